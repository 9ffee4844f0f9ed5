#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "gpu_pool/judge/adapters/device.hpp"
#include "gpu_pool/judge/adapters/host.hpp"
#include "gpu_pool/judge/adapters/room.hpp"
#include "gpu_pool/judge/app/plan.hpp"
#include "gpu_pool/judge/core/gate.hpp"
#include "gpu_pool/judge/core/guards.hpp"
#include "gpu_pool/judge/core/null_candidates.hpp"
#include "gpu_pool/judge/core/verdict.hpp"

namespace swage::judge {

/// Judges what calls returned, while every host stands still. Remembers the candidate's last two
/// results, which its host keeps alive, to see whether they were touched. Thread: one.
class Checker {
 public:
  Checker(const Plan& plan, const Guards& guards, Room& room, Device& device)
      : plan_(plan), guards_(guards), room_(room), device_(device) {}

  /// Inputs that hosts see, on the device, for results that lie in them. Borrowed.
  void set_inputs(std::span<const std::byte> inputs) { inputs_ = inputs; }

  /// What eager returned must be usable as an expectation: errors say task_invalid.
  Result<void, Ending> accept_expected(const CallOutputs& expected) const;

  /// Compares the candidate's newest call with eager's on the same input. The record is valid in
  /// both cases; the error says which rule was broken.
  Result<void, Ending> judge(const Host& candidate, const CallOutputs& got, const Host& eager,
                             const CallOutputs& expected, CheckRecord& record);

  /// Whether a result that should be wrong is right. No rule is broken by what it answers.
  bool passes_anyway(const Host& candidate, const CallOutputs& got, const Host& eager,
                     const CallOutputs& expected);

  /// Compares the candidate's two newest results, of equal inputs: bits, or a quarter of the gate.
  Result<void, Ending> judge_repeat(const Host& candidate, const CallOutputs& first,
                                    const CallOutputs& second, CheckRecord& record);

  /// The first candidate that computes nothing and is right for `expected`. `last`: eager's result
  /// for other inputs.
  std::optional<Null> passing_null(const Host& eager, const CallOutputs& expected,
                                   const CallOutputs& last, const std::vector<TensorView>& inputs);
  /// Of the output whose elements are smallest.
  double least_root_mean_square(const Host& eager, const CallOutputs& expected) const;

  /// Compares two results of one host.
  Comparison compare_calls(const Host& host, const CallOutputs& a, const CallOutputs& b,
                           Tolerance tolerance);

  /// Before a call of the candidate: fills the block that its allocator hands out next, the oldest
  /// result that the host has let go of.
  void poison_next(Host& candidate);

  /// The candidate was called and nobody judged the results: what it held before may be gone.
  void forget_held();

  /// The errors of candidate and eager against the same computation in double precision: fills the
  /// record's fields of the precision rule. The error says precision_downgrade.
  Result<void, Ending> judge_precision(const Host& candidate, const CallOutputs& got,
                                       const Host& eager, const CallOutputs& expected,
                                       const Host& reference, const CallOutputs& exact,
                                       CheckRecord& record) const;
  /// Whether eager is as exact as a result by which others are judged must be.
  bool is_exact_enough(const Host& eager, const CallOutputs& expected, const Host& reference,
                       const CallOutputs& exact) const;

  /// The end bands of an arena: written when a host is new, whole as long as nobody writes there.
  void draw_end_bands(const Host& host);
  Result<void, Ending> end_bands(const Host& host);

 private:
  struct Held {
    CallOutputs outputs;
    std::vector<std::vector<std::uint32_t>> samples;  // of each output
  };
  /// A result where it can be looked at.
  struct Content {
    HostView memory;
    TensorView view;
  };
  Result<void, Ending> same_metadata(const CallOutputs& got, const CallOutputs& expected) const;
  Result<void, Ending> own_storage(const Host& candidate, const CallOutputs& got);
  bool null_passes(Null which, const Host& eager, const CallOutputs& expected,
                   const CallOutputs& last, const std::vector<TensorView>& inputs);
  Result<void, Ending> held_still(const Host& candidate, const CallOutputs& got);
  std::vector<std::uint32_t> sample(const Host& host, const Output& output);
  Comparison compare_whole(const TensorView& a, const TensorView& b, Tolerance tolerance);

  void keep(const Host& candidate, const CallOutputs& got);
  Result<void, Ending> remember(const Host& candidate, const CallOutputs& got,
                                const Comparison& total);
  Content content_of(const Host& host, const Output& output) const;
  Comparison compare_outputs(const Host& candidate, const CallOutputs& got, const Host& eager,
                             const CallOutputs& expected);

  const Plan& plan_;
  const Guards& guards_;
  Room& room_;
  Device& device_;
  std::span<const std::byte> inputs_;
  std::deque<Held> held_;      // oldest first, at most two
  std::vector<Output> freed_;  // results that the host let go of when it made the newest
};

}  // namespace swage::judge
