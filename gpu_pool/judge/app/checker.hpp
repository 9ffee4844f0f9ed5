#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "gpu_pool/judge/adapters/host.hpp"
#include "gpu_pool/judge/adapters/room.hpp"
#include "gpu_pool/judge/app/plan.hpp"
#include "gpu_pool/judge/core/gate.hpp"
#include "gpu_pool/judge/core/verdict.hpp"

namespace swage::judge {

/// Judges what calls returned, while every host stands still. Remembers the candidate's last two
/// results, which its host keeps alive, to see whether they were touched. Thread: one.
class Checker {
 public:
  Checker(const Plan& plan, Room& room) : plan_(plan), room_(room) {}

  /// What eager returned must be usable as an expectation: errors say task_invalid.
  Result<void, Ending> accept_expected(const CallOutputs& expected) const;

  /// Compares the candidate's newest call with eager's on the same input. The record is valid in
  /// both cases; the error says which rule was broken.
  Result<void, Ending> judge(const Host& candidate, const CallOutputs& got, const Host& eager,
                             const CallOutputs& expected, CheckRecord& record);

  /// Compares the candidate's two newest results, of equal inputs: bits, or a quarter of the gate.
  Result<void, Ending> judge_repeat(const Host& candidate, const CallOutputs& first,
                                    const CallOutputs& second, CheckRecord& record);

  /// Compares two results of one host.
  Comparison compare_calls(const Host& host, const CallOutputs& a, const CallOutputs& b,
                           Tolerance tolerance);

  /// The end bands of an arena: written when a host is new, whole as long as nobody writes there.
  static void draw_end_bands(Host& host);
  static Result<void, Ending> end_bands(const Host& host);

 private:
  struct Held {
    CallOutputs outputs;
    std::vector<std::uint64_t> samples;  // one per output
  };
  Result<void, Ending> same_metadata(const CallOutputs& got, const CallOutputs& expected) const;
  Result<void, Ending> own_storage(const Host& candidate, const CallOutputs& got);
  Comparison compare_whole(const TensorView& a, const TensorView& b, Tolerance tolerance);

  const Plan& plan_;
  Room& room_;
  std::deque<Held> held_;  // oldest first, at most two
};

}  // namespace swage::judge
