#include "rollout_worker/api/evaluation.hpp"
#include "rollout_worker/api/rollout.hpp"

namespace swage::rollout_worker {

std::string_view name_of(EndReason reason) {
  switch (reason) {
    case EndReason::no_tool_call:
      return "no_tool_call";
    case EndReason::schema_violation:
      return "schema_violation";
    case EndReason::turn_limit:
      return "turn_limit";
    case EndReason::context_full:
      return "context_full";
    case EndReason::wall_clock:
      return "wall_clock";
    case EndReason::cancelled:
      return "cancelled";
    case EndReason::infrastructure:
      return "infrastructure";
  }
  return "";
}

std::string_view name_of(EvaluationMode mode) {
  switch (mode) {
    case EvaluationMode::verify:
      return "verify";
    case EvaluationMode::profile:
      return "profile";
    case EvaluationMode::score:
      return "score";
  }
  return "";
}

}  // namespace swage::rollout_worker
