#pragma once

#include <string>

#include "common/base/result.hpp"
#include "controller/api/resources.hpp"

namespace swage::controller {

/// Whether spec.model.source, when it is a directory, holds what a model needs: config.json,
/// tokenizer.json and weights. What is in them the policy and the learner check as they load.
Result<void, std::string> check_model_directory(const TrainingRun& run);

}  // namespace swage::controller
