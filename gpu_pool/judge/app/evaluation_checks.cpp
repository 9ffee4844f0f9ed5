#include <algorithm>

#include "gpu_pool/judge/app/endings.hpp"
#include "gpu_pool/judge/app/evaluation.hpp"
#include "gpu_pool/judge/core/hidden.hpp"
#include "gpu_pool/judge/core/recipe.hpp"

// The part of an evaluation that asks whether task and candidate are right.
namespace swage::judge {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kHiddenPurpose = 6;
constexpr std::uint64_t kGhostPurpose = 7;
// Content numbers: random checks count from 0 and timed rounds from 1000.
constexpr std::uint64_t kHiddenSet = 1U << 21;
constexpr std::uint64_t kWeightSet = 1U << 22;
constexpr std::uint64_t kAdmissionSet = 1U << 20;

}  // namespace

/// What a task must satisfy before anybody is judged by it. Runs once, when it is learned.
Result<void, Ending> Evaluation::admit_task() {
  const Tolerance quarter{plan_.tolerance.absolute / 4, plan_.tolerance.relative / 4};
  Host& eager = arms_.host(Role::eager);
  const auto invalid = [](std::string why) {
    return tl::unexpected(Ending{Code::task_invalid, std::move(why)});
  };
  if (const auto written = inputs_->write(kAdmissionSet, room_); !written) return written;
  const auto first = call(Role::eager, plan_.first_call);
  if (!first) return tl::unexpected(first.error());
  if (const auto usable = checker_.accept_expected(first->outputs); !usable) return usable;
  const auto again = call(Role::eager, plan_.first_call);
  if (!again) return tl::unexpected(again.error());
  const Comparison same = checker_.compare_calls(eager, again->outputs, first->outputs, quarter);
  if (same.expected_nonfinite > 0) return invalid("the reference's result is not finite");
  if (!same.passed()) return invalid("the reference gives two results for the same input");
  if (const auto written = inputs_->write(kAdmissionSet + 1, room_); !written) return written;
  const auto other = call(Role::eager, plan_.first_call);
  if (!other) return tl::unexpected(other.error());
  const Comparison moved = checker_.compare_calls(eager, other->outputs, again->outputs, {0, 0});
  const bool other_content = guards_.fresh && guards_.seed;
  if (other_content && moved.passed())
    return invalid("the reference's result does not depend on the inputs");
  if (other_content)
    if (const auto alive = refuse_nulls(other->outputs, again->outputs); !alive) return alive;
  eager_us_ = other->window_us;
  return guards_.hidden ? learn_hidden() : Result<void, Ending>();
}

/// A candidate that computes nothing must fail: by the usual tolerance, or by one that goes with
/// the size of the results.
Result<void, Ending> Evaluation::refuse_nulls(const CallOutputs& expected,
                                              const CallOutputs& last) {
  const Host& eager = arms_.host(Role::eager);
  const HostView content = machine_.kernels().read(inputs_->memory().bytes());
  const auto inputs = inputs_->views(content.bytes);
  auto right = checker_.passing_null(eager, expected, last, inputs);
  if (!right) return {};
  const double size = checker_.least_root_mean_square(eager, expected);
  if (size < 1) {
    task_->facts.absolute = plan_.tolerance.absolute *= size;
    right = checker_.passing_null(eager, expected, last, inputs);
  }
  if (!right) return {};
  return tl::unexpected(Ending{Code::task_invalid, "a result that computes nothing passes: " +
                                                       std::string(name_of(*right))});
}

/// Finds the hidden distributions for which eager agrees with double precision. A task that cannot
/// be computed in double precision has none.
Result<void, Ending> Evaluation::learn_hidden() {
  if (!inputs_->can_be_hidden()) return {};
  if (!arms_.prepare(Role::reference, *task_, *weights_, *inputs_)) {
    arms_.drop(Role::reference);
    return {};
  }
  for (std::size_t i = 0; i < kHiddenCount; ++i) {
    const auto which = static_cast<Hidden>(i);
    const auto holds = holds_for(which, kAdmissionSet + 2 + i);
    if (!holds) return tl::unexpected(holds.error());
    if (*holds) task_->facts.hidden.push_back(which);
  }
  arms_.drop(Role::reference);
  return {};
}

Result<bool, Ending> Evaluation::holds_for(Hidden which, std::uint64_t set) {
  if (const auto written = inputs_->write_hidden(which, set, room_); !written)
    return tl::unexpected(written.error());
  const auto expected = call(Role::eager, plan_.first_call);
  if (!expected && !arms_.host(Role::eager).alive()) return tl::unexpected(expected.error());
  if (!expected || !checker_.accept_expected(expected->outputs)) return false;
  const auto exact = call(Role::reference, plan_.first_call);
  if (!exact && !arms_.host(Role::reference).alive()) return tl::unexpected(exact.error());
  return exact && checker_.is_exact_enough(arms_.host(Role::eager), expected->outputs,
                                           arms_.host(Role::reference), exact->outputs);
}

Result<void, Ending> Evaluation::one_check(std::uint64_t set, const std::string& kind,
                                           const std::string& distribution) {
  const milliseconds limit = called_ ? call_limit() : plan_.first_call;
  auto expected = call(Role::eager, limit);
  if (!expected) return tl::unexpected(expected.error());
  eager_us_ = expected->window_us;
  if (const auto usable = checker_.accept_expected(expected->outputs); !usable) return usable;
  auto got = call(Role::candidate, called_ ? call_limit() : plan_.first_call);
  if (!got) return tl::unexpected(got.error());
  called_ = true;
  CheckRecord record{kind, distribution, static_cast<std::uint32_t>(set), 0, 0, false};
  auto judged = checker_.judge(arms_.host(Role::candidate), got->outputs, arms_.host(Role::eager),
                               expected->outputs, record);
  last_candidate_ = std::move(got->outputs);
  last_eager_ = std::move(expected->outputs);
  if (judged && kind == "random" && arms_.has(Role::reference)) judged = check_precision(record);
  record_.checks.push_back(record);
  return judged;
}

Result<void, Ending> Evaluation::check_precision(CheckRecord& record) {
  const auto exact = call(Role::reference, plan_.first_call);
  if (!exact) return tl::unexpected(exact.error());
  if (exact->outputs.outputs.size() != last_eager_.outputs.size()) return {};
  auto judged = checker_.judge_precision(arms_.host(Role::candidate), last_candidate_,
                                         arms_.host(Role::eager), last_eager_,
                                         arms_.host(Role::reference), exact->outputs, record);
  record_.precision_pass = record_.precision_pass.value_or(true) && judged.has_value();
  return plan_.matched ? judged : Result<void, Ending>();
}

Result<void, Ending> Evaluation::repeat_check() {
  const CallOutputs first = last_candidate_;
  auto again = call(Role::candidate, call_limit());
  if (!again) return tl::unexpected(again.error());
  CheckRecord record{"repeat", inputs_->distribution(), 0, 0, 0, false};
  const Host& candidate = arms_.host(Role::candidate);
  auto judged =
      checker_.judge(candidate, again->outputs, arms_.host(Role::eager), last_eager_, record);
  // Chance shows as a difference to the first result, whichever of the two is right.
  const bool comparable = judged || judged.error().code == Code::mismatch;
  if (comparable) judged = checker_.judge_repeat(candidate, first, again->outputs, record);
  record_.checks.push_back(record);
  return judged;
}

/// The newest call once more while the library does nothing: whoever is still right does not need
/// it.
Result<void, Ending> Evaluation::ghost_check() {
  Host& candidate = arms_.host(Role::candidate);
  checker_.poison_next(candidate);
  const auto got = candidate.call(Operation::forward, inputs_->bytes(), call_limit(), true);
  if (!got && got.error().kind == HostFailure::Kind::failed) return {};
  if (!got) return tl::unexpected(candidate_ending(got.error()));
  if (!checker_.passes_anyway(candidate, got->outputs, arms_.host(Role::eager), last_eager_))
    return {};
  return tl::unexpected(Ending{Code::policy_violation,
                               "the result is right though no function of the library did anything",
                               "ghost"});
}

Result<void, Ending> Evaluation::check_candidate() {
  enter("first_call");
  const std::string usual = inputs_->distribution();
  if (const auto written = inputs_->write(0, room_); !written) return written;
  if (const auto checked = one_check(0, "random", usual); !checked) return checked;
  enter("checks");
  if (const auto repeated = repeat_check(); !repeated) return repeated;
  std::uint64_t elements = 0;
  for (const auto& output : last_eager_.outputs) elements += element_count(output.spec).value_or(0);
  const bool small = elements < plan_.small_elements;
  const std::uint32_t count = small ? plan_.checks_if_small : plan_.checks;
  const std::uint64_t draw = derive_key(root_, kGhostPurpose, 0);
  const auto first_ghost = static_cast<std::uint32_t>(1 + draw % (count - 1));
  const auto second_ghost = static_cast<std::uint32_t>(1 + (draw >> 32U) % (count - 1));
  for (std::uint32_t set = 1; set < count; ++set) {
    if (const auto written = inputs_->write(set, room_); !written) return written;
    if (const auto checked = one_check(set, "random", usual); !checked) return checked;
    if (guards_.ghost && (set == first_ghost || set == second_ghost))
      if (const auto needed = ghost_check(); !needed) return needed;
    session_.progress("checks", set + 1, count);
  }
  if (const auto checked = hidden_checks(); !checked) return checked;
  return weight_checks();
}

Result<void, Ending> Evaluation::hidden_checks() {
  if (!guards_.hidden) return {};
  const auto drawn =
      draw_hidden(task_->facts.hidden, plan_.hidden, derive_key(root_, kHiddenPurpose, 0));
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    if (const auto written = inputs_->write_hidden(drawn[i], kHiddenSet + i, room_); !written)
      return written;
    const auto checked = one_check(i, "hidden", std::string(name_of(drawn[i])));
    if (!checked) return checked;
  }
  return {};
}

/// The second set of weights, through load_state_dict on the same objects; it stays in force.
Result<void, Ending> Evaluation::weight_checks() {
  if (!other_weights_) return {};
  if (const auto changed = arms_.change_weights(Role::eager, *other_weights_); !changed)
    return tl::unexpected(task_ending(changed.error()));
  if (const auto changed = arms_.change_weights(Role::candidate, *other_weights_); !changed)
    return tl::unexpected(candidate_ending(changed.error()));
  for (std::uint32_t i = 0; i < plan_.weight_checks; ++i) {
    if (const auto written = inputs_->write(kWeightSet + i, room_); !written) return written;
    if (const auto checked = one_check(i, "weights_b", inputs_->distribution()); !checked)
      return checked;
  }
  return {};
}

}  // namespace swage::judge
