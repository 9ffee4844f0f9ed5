#pragma once

#include <string>

#include "gpu_pool/worker/api/evaluator.hpp"
#include "swage/v1/evaluate.pb.h"

/// The wire of evaluate.proto to and from the worker's own types. Pure.
namespace swage::worker {

/// Errors: one sentence that names the field.
Result<EvaluationCall, std::string> call_from(const v1::EvaluateStart& start,
                                              const std::string& pool);

/// Checks a received bundle against the id that was announced, and its limits. Errors: one
/// sentence.
Result<void, std::string> check_bundle(const std::string& bytes, const std::string& id);

v1::EvaluateResponse refused_message(const Refused& refused);
v1::EvaluateResponse verdict_message(const judge::JudgeOutcome& outcome);
v1::EvaluateResponse progress_message(const judge::Progress& progress);

}  // namespace swage::worker
