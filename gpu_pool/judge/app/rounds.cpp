#include "gpu_pool/judge/app/rounds.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "gpu_pool/judge/app/endings.hpp"
#include "gpu_pool/judge/core/recipe.hpp"

namespace swage::judge {
namespace {

constexpr std::uint64_t kOrderPurpose = 5;
constexpr std::uint64_t kFirstTimedSet = 1000;  // sets below are those of the checks
constexpr int kSettles = 3;                     // looks for a quiet moment before a call
constexpr std::uint32_t kFirstVoidLimit = 4;    // so many may be void before a share is a share

std::vector<Role> arms_of(Subject subject) {
  switch (subject) {
    case Subject::solution:
      return {Role::candidate, Role::eager, Role::compile};
    case Subject::reference:
      return {Role::eager, Role::compile};
    case Subject::noise:
      return {Role::candidate, Role::twin, Role::eager};
  }
  return {};
}

ArmRecord arm_record(const std::vector<double>& windows, double offset) {
  const double raw = median(windows);
  return {raw, raw - offset, coefficient_of_variation(windows)};
}

std::vector<double> ratios(const std::vector<double>& candidate,
                           const std::vector<double>& baseline, double offset) {
  std::vector<double> out;
  for (std::size_t i = 0; i < candidate.size(); ++i)
    out.push_back(std::max(candidate[i] - offset, 1e-3) / std::max(baseline[i] - offset, 1e-3));
  return out;
}

}  // namespace

Rounds::Rounds(Subject subject, const Plan& plan, const Guards& guards, const Root& root,
               Machine& machine, Arms& arms, Inputs& inputs, Checker& checker, Report report)
    : subject_(subject),
      roles_(arms_of(subject)),
      plan_(plan),
      guards_(guards),
      root_(root),
      room_(machine.room()),
      device_(machine.kernels()),
      arms_(arms),
      inputs_(inputs),
      checker_(checker),
      report_(std::move(report)) {
  for (const Role role : roles_) windows_[role];
}

std::vector<Role> Rounds::order(std::uint64_t number) const {
  std::vector<Role> roles = roles_;
  std::uint64_t draw = derive_key(root_, kOrderPurpose, number);
  for (std::size_t i = roles.size(); i > 1; --i, draw /= 7)
    std::swap(roles[i - 1], roles[draw % i]);
  return roles;
}

/// Prepares a call. False: somebody else was at work on the device, each time that we looked.
bool Rounds::settle(Role role) {
  Host& host = arms_.host(role);
  for (int i = 0; i < kSettles; ++i) {
    Disturbance seen;
    seen.gap_us = device_.watch([&] {
      if (role == Role::candidate) checker_.poison_next(host);
      device_.flush();
    });
    if (!host.wake()) return true;  // it has ended: the call will say how
    for (int probe = 0; probe < 2; ++probe)
      seen.probe_us = std::max(seen.probe_us, device_.probe_us());
    if (is_quiet(seen)) return true;
    if (!host.rest()) return true;
  }
  return false;
}

Result<Host::Call, Ending> Rounds::timed_call(Role role, Round& round) {
  const bool quiet = settle(role);
  BusyCount& busy = busy_[role];
  ++busy.calls;
  busy.busy += quiet ? 0 : 1;
  if (!quiet) round.void_reason = "busy";
  const auto factor = std::chrono::milliseconds(static_cast<std::int64_t>(call_limit_us_ / 1e3));
  const auto limit = guards_.deadline ? std::max(plan_.least_call, factor) : plan_.first_call;
  auto call = arms_.host(role).call(Operation::forward, inputs_.bytes(), limit);
  if (!call)
    return tl::unexpected(role == Role::candidate || role == Role::twin
                              ? candidate_ending(call.error())
                              : task_ending(call.error()));
  if (const auto mhz = device_.clock_mhz()) round.mhz.push_back(*mhz);
  return std::move(*call);
}

/// A disturbed one would be taken from every arm: the next round makes another.
Result<void, Ending> Rounds::empty_call() {
  if (!settle(Role::eager)) return {};
  const auto call =
      arms_.host(Role::eager).call(Operation::nothing, inputs_.bytes(), plan_.least_call);
  if (!call) return tl::unexpected(task_ending(call.error()));
  if (call->waited_us <= plan_.waited_floor_us) empties_.push_back(call->window_us);
  return {};
}

Result<Rounds::Round, Ending> Rounds::one(std::uint64_t number) {
  if (const auto written = inputs_.write(kFirstTimedSet + number, room_); !written)
    return tl::unexpected(written.error());
  Round round;
  std::map<Role, CallOutputs> outputs;
  for (const Role role : order(number)) {
    auto call = timed_call(role, round);
    if (!call) return tl::unexpected(call.error());
    round.window_us[role] = call->window_us;
    const double allowed = std::max(plan_.waited_floor_us, plan_.waited_share * call->window_us);
    if (call->waited_us > allowed) round.void_reason = "waited";
    outputs[role] = std::move(call->outputs);
  }
  if (clocks_differ(round.mhz)) round.void_reason = "clock";
  if (const auto why = device_.slowdown(); !why.empty()) round.void_reason = why;
  call_limit_us_ = plan_.call_factor * round.window_us[Role::eager];
  if (const auto right = check_results(number, outputs); !right)
    return tl::unexpected(right.error());
  return round;
}

Result<void, Ending> Rounds::check_results(std::uint64_t number,
                                           std::map<Role, CallOutputs>& outputs) {
  if (!guards_.timed || subject_ == Subject::reference) return {};
  CheckRecord record{"timed", inputs_.distribution(), static_cast<std::uint32_t>(number), 0, 0,
                     false};
  auto judged = checker_.judge(arms_.host(Role::candidate), outputs[Role::candidate],
                               arms_.host(Role::eager), outputs[Role::eager], record);
  checks_.push_back(record);
  return judged;
}

/// After round `number`, counted from 1: too many that do not count end the measurement.
Result<void, Ending> Rounds::count_void(std::uint64_t number, std::uint32_t total) {
  const std::uint64_t bad = number - valid();
  const auto share = plan_.void_share * std::max<double>(static_cast<double>(number), total);
  if (bad <= kFirstVoidLimit || static_cast<double>(bad) <= share) return {};
  if (works_in_the_background(busy_[Role::candidate], busy_[Role::eager]))
    return tl::unexpected(Ending{Code::policy_violation,
                                 "the device was busy before the candidate's calls, and before "
                                 "others it was not",
                                 "background_work"});
  std::string why;
  for (const auto& [reason, count] : voided_)
    why += (why.empty() ? " (" : ", ") + reason + ": " + std::to_string(count);
  return tl::unexpected(
      Ending{Code::timing_unstable, std::to_string(bad) + " of " + std::to_string(number) +
                                        " rounds were disturbed by other work on the machine" +
                                        why + ")"});
}

std::size_t Rounds::valid() const { return windows_.at(Role::eager).size(); }

std::optional<ArmRecord> Rounds::arm(Role role, double offset) const {
  const auto found = windows_.find(role);
  if (found == windows_.end()) return std::nullopt;
  return arm_record(found->second, offset);
}

std::optional<Interval> Rounds::ratio(Role over, Role under, double offset, std::size_t j) const {
  const auto a = windows_.find(over);
  const auto b = windows_.find(under);
  if (a == windows_.end() || b == windows_.end()) return std::nullopt;
  return order_interval(ratios(a->second, b->second, offset), j);
}

void Rounds::summarise(std::uint32_t looks, std::size_t j) {
  const double offset = median(empties_);
  TimingRecord timing;
  timing.rounds = static_cast<std::uint32_t>(valid());
  timing.looks = looks;
  timing.voided = voided_;
  timing.offset_us = offset;
  timing.candidate = arm(Role::candidate, offset);
  timing.eager = arm(Role::eager, offset);
  timing.compile = arm(Role::compile, offset);
  timing.twin = arm(Role::twin, offset);
  timing.q_eager = ratio(Role::candidate, Role::eager, offset, j);
  timing.q_compile = ratio(Role::candidate, Role::compile, offset, j);
  timing.q_twin = ratio(Role::candidate, Role::twin, offset, j);
  if (!timing.candidate) timing.q_reference = ratio(Role::compile, Role::eager, offset, j);
  if (subject_ == Subject::solution)
    tier_ = tier_of({*timing.q_eager, timing.candidate->raw_us, timing.eager->raw_us,
                     timing.q_compile, timing.compile->raw_us});
  timing_ = std::move(timing);
}

bool Rounds::settled() const {
  if (subject_ == Subject::noise) return decided(*timing_->q_twin);
  if (subject_ == Subject::reference) return true;
  return decided(*timing_->q_eager) && decided(*timing_->q_compile);
}

Result<void, Ending> Rounds::run(std::uint64_t first) {
  const auto deadline = std::chrono::steady_clock::now() + plan_.rounds;
  const std::uint32_t total = plan_.looks.back().rounds;
  const std::uint32_t empty_every = std::max(1U, total / plan_.offset_calls);
  std::uint64_t number = 0;
  std::uint32_t looks = 0;
  for (const Look& look : plan_.looks) {
    const auto out_of_time = [&] {
      return valid() >= kFewestRounds && std::chrono::steady_clock::now() > deadline;
    };
    while (valid() < look.rounds && !out_of_time()) {
      if (empties_.size() * empty_every <= number)
        if (const auto empty = empty_call(); !empty) return empty;
      auto round = one(first + number++);
      if (!round) return tl::unexpected(round.error());
      if (round->void_reason.empty()) {
        for (const auto& [role, window] : round->window_us) windows_[role].push_back(window);
      } else {
        ++voided_[round->void_reason];
      }
      if (const auto usable = count_void(number, total); !usable) return usable;
      report_(static_cast<std::uint32_t>(valid()), total);
    }
    if (empties_.empty())
      return tl::unexpected(Ending{Code::timing_unstable,
                                   "every empty call was disturbed by other work on the machine"});
    summarise(++looks, valid() == look.rounds ? look.j : order_index(valid()));
    if (settled() || std::chrono::steady_clock::now() > deadline) break;
  }
  return {};
}

}  // namespace swage::judge
