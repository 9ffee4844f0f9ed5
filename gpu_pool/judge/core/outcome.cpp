#include "gpu_pool/judge/core/outcome.hpp"

#include <array>

namespace swage::judge {
namespace {

bool gains(const Interval& q, double candidate_us, double baseline_us) {
  return q.hi < kFasterRatio && candidate_us < baseline_us;
}

}  // namespace

std::string_view name_of(Code code) {
  static constexpr std::array<std::string_view, 22> kNames{"",
                                                           "ok",
                                                           "compile_error",
                                                           "load_error",
                                                           "crash",
                                                           "oom",
                                                           "timeout",
                                                           "protocol_error",
                                                           "wrong_metadata",
                                                           "mismatch",
                                                           "nonfinite",
                                                           "input_mutated",
                                                           "aliased",
                                                           "nondeterministic",
                                                           "deferred_write",
                                                           "oob_write",
                                                           "precision_downgrade",
                                                           "policy_violation",
                                                           "gpu_fault",
                                                           "timing_unstable",
                                                           "task_invalid",
                                                           "infra_error"};
  return kNames.at(static_cast<std::size_t>(code));
}

std::uint32_t tier_of(const Evidence& evidence) {
  if (!gains(evidence.q_eager, evidence.candidate_us, evidence.eager_us)) return 1;
  if (!evidence.q_compile || !evidence.compile_us) return 2;
  return gains(*evidence.q_compile, evidence.candidate_us, *evidence.compile_us) ? 3 : 2;
}

std::optional<double> reward_of(Code code, std::uint32_t tier) {
  switch (code) {
    case Code::ok:
      return static_cast<double>(tier);
    case Code::timing_unstable:
      return 1;
    case Code::task_invalid:
    case Code::infra_error:
      return std::nullopt;
    default:
      return -1;
  }
}

}  // namespace swage::judge
