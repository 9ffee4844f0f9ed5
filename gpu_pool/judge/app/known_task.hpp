#pragma once

#include <string>

#include "gpu_pool/judge/adapters/host.hpp"
#include "gpu_pool/judge/adapters/task_facts.hpp"
#include "gpu_pool/judge/app/inputs.hpp"

namespace swage::judge {

/// A task's facts with the initial state of its model, in the layout of page_layout.
struct KnownTask {
  TaskFacts facts;
  std::string initial_state;
};

/// Asks a task host for all of it, and drops each recipe whose values do not look like those that
/// the task itself draws. Errors: task_invalid says why the task cannot be judged.
Result<KnownTask, Ending> learn_task(Host& task_host, const Root& root);

}  // namespace swage::judge
