#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gpu_pool/judge/core/statistics.hpp"

namespace swage::judge {

/// How an evaluation ends, in the order of swage.v1.VerdictCode (design judge.md, section 6).
enum class Code : std::uint8_t {
  ok = 1,
  compile_error,
  load_error,
  crash,
  oom,
  timeout,
  protocol_error,
  wrong_metadata,
  mismatch,
  nonfinite,
  input_mutated,
  aliased,
  nondeterministic,
  deferred_write,
  oob_write,
  precision_downgrade,
  policy_violation,
  gpu_fault,
  timing_unstable,
  task_invalid,
  infra_error,
};

/// `mismatch`, for people.
std::string_view name_of(Code code);

/// Why an evaluation ends before its regular end.
struct Ending {
  Code code = Code::infra_error;
  std::string detail;  ///< one sentence for people; may quote untrusted text
  std::string rule{};  ///< of a policy_violation: `symbols`, `ast`, `dispatch`
};

/// What decides the tier: intervals of candidate / baseline, and medians of the raw windows (us).
struct Evidence {
  Interval q_eager;
  double candidate_us = 0;
  double eager_us = 0;
  std::optional<Interval> q_compile;
  std::optional<double> compile_us;
};

/// Tier of a right candidate: 3 faster than eager and compile, 2 than eager, else 1. Faster means
/// that the interval's upper end is below 0.95 and the raw median agrees.
std::uint32_t tier_of(const Evidence& evidence);

/// Reward of a scored evaluation; nothing when it decides none (task_invalid, infra_error).
std::optional<double> reward_of(Code code, std::uint32_t tier);

}  // namespace swage::judge
