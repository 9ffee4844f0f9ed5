#pragma once

#include <functional>
#include <string>

#include "common/asio/asio.hpp"
#include "common/asio/stop_source.hpp"
#include "rollout_worker/app/config.hpp"

namespace swage::rollout_worker {

/// The whole process on one strand: wires the parts, serves until `stop`, then: not ready, takes no
/// more, drains, tells the dispatcher, closes. Returns the exit code (docs/PROCESSES.md).
/// who_runs: set while rollouts can run, to a function that lists them; for a watchdog on `strand`.
Task<int> run_worker(asio::any_io_executor strand, StopSource& stop, WorkerConfig config,
                     std::function<std::string()>& who_runs);

}  // namespace swage::rollout_worker
