#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "gpu_pool/judge/api/judge_runner.hpp"
#include "gpu_pool/judge/core/gate.hpp"
#include "gpu_pool/judge/core/statistics.hpp"

namespace swage::judge {

/// The numbers of one evaluation (design judge.md, sections 3, 4 and 6).
struct Plan {
  std::uint32_t checks = 5;            ///< random inputs
  std::uint32_t checks_if_small = 20;  ///< for results of fewer elements than the next
  std::uint64_t small_elements = 1024;
  std::uint32_t hidden = 4;         ///< hidden distributions, drawn from those that are valid
  std::uint32_t weight_checks = 2;  ///< random inputs under the second weight set
  bool matched = false;             ///< the precision rule decides as well as the gate
  bool measure_precision = false;   ///< it is evaluated, whether or not it decides
  std::uint32_t warm_ups = 3;       ///< calls of the compile arm before the rounds
  std::vector<Look> looks;          ///< when the stopping rule looks; empty: no rounds
  double void_share = 0.25;         ///< more void rounds than this: timing_unstable
  double waited_share = 0.01;       ///< of a window waiting for a processor: round is void
  double waited_floor_us = 50;      ///< waits below this void nothing: a wake-up takes as long
  std::uint32_t offset_calls = 30;  ///< empty calls, spread over the rounds
  Tolerance tolerance;
  std::chrono::milliseconds load{30000};
  std::chrono::milliseconds first_call{60000};
  std::chrono::milliseconds compile_call{180000};  ///< the compile host's first: Inductor works
  std::chrono::milliseconds least_call{1000};
  double call_factor = 50;                  ///< a call may take max(least_call, this * eager)
  std::chrono::milliseconds rounds{60000};  ///< for all looks
  std::uint64_t arena_bytes = 2UL << 30;
};

/// The plan for a request.
Plan plan_for(const JudgeRequest& request);

}  // namespace swage::judge
