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
constexpr std::uint32_t kFirstVoidLimit = 4;    // so many may be void before a share is a share

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

Rounds::Rounds(const Plan& plan, const Guards& guards, const Root& root, Room& room, Arms& arms,
               Inputs& inputs, Checker& checker, Report report)
    : plan_(plan),
      guards_(guards),
      root_(root),
      room_(room),
      arms_(arms),
      inputs_(inputs),
      checker_(checker),
      report_(std::move(report)) {}

std::vector<Role> Rounds::order(std::uint64_t number) const {
  std::vector<Role> roles{Role::candidate, Role::eager, Role::compile};
  std::uint64_t draw = derive_key(root_, kOrderPurpose, number);
  for (std::size_t i = roles.size(); i > 1; --i, draw /= 7)
    std::swap(roles[i - 1], roles[draw % i]);
  return roles;
}

Result<Host::Call, Ending> Rounds::timed_call(Role role) {
  if (role == Role::candidate) checker_.poison_next(arms_.host(role));
  room_.flush();
  const auto factor = std::chrono::milliseconds(static_cast<std::int64_t>(call_limit_us_ / 1e3));
  auto call = arms_.host(role).call(Operation::forward, inputs_.bytes(),
                                    std::max(plan_.least_call, factor));
  if (!call)
    return tl::unexpected(role == Role::candidate ? candidate_ending(call.error())
                                                  : task_ending(call.error()));
  return std::move(*call);
}

Result<void, Ending> Rounds::empty_call() {
  room_.flush();
  const auto call =
      arms_.host(Role::eager).call(Operation::nothing, inputs_.bytes(), plan_.least_call);
  if (!call) return tl::unexpected(task_ending(call.error()));
  empties_.push_back(call->window_us);
  return {};
}

Result<Rounds::Round, Ending> Rounds::one(std::uint64_t number) {
  if (const auto written = inputs_.write(kFirstTimedSet + number, room_); !written)
    return tl::unexpected(written.error());
  Round round;
  std::map<Role, CallOutputs> outputs;
  for (const Role role : order(number)) {
    auto call = timed_call(role);
    if (!call) return tl::unexpected(call.error());
    round.window_us[role] = call->window_us;
    const double allowed = std::max(plan_.waited_floor_us, plan_.waited_share * call->window_us);
    if (call->waited_us > allowed) round.void_reason = "waited";
    outputs[role] = std::move(call->outputs);
  }
  CheckRecord record{"timed", inputs_.distribution(), static_cast<std::uint32_t>(number), 0, 0,
                     false};
  call_limit_us_ = plan_.call_factor * round.window_us[Role::eager];
  if (!guards_.timed) return round;
  auto judged = checker_.judge(arms_.host(Role::candidate), outputs[Role::candidate],
                               arms_.host(Role::eager), outputs[Role::eager], record);
  checks_.push_back(record);
  if (!judged) return tl::unexpected(judged.error());
  return round;
}

void Rounds::summarise(std::uint32_t looks, std::size_t j) {
  const double offset = median(empties_);
  TimingRecord timing;
  timing.rounds = static_cast<std::uint32_t>(windows_[Role::candidate].size());
  timing.looks = looks;
  timing.voided = voided_;
  timing.offset_us = offset;
  timing.candidate = arm_record(windows_[Role::candidate], offset);
  timing.eager = arm_record(windows_[Role::eager], offset);
  timing.compile = arm_record(windows_[Role::compile], offset);
  timing.q_eager =
      order_interval(ratios(windows_[Role::candidate], windows_[Role::eager], offset), j);
  timing.q_compile =
      order_interval(ratios(windows_[Role::candidate], windows_[Role::compile], offset), j);
  tier_ = tier_of({timing.q_eager, timing.candidate.raw_us, timing.eager.raw_us, timing.q_compile,
                   timing.compile->raw_us});
  timing_ = std::move(timing);
}

bool Rounds::settled() const { return decided(timing_->q_eager) && decided(*timing_->q_compile); }

Result<void, Ending> Rounds::run(std::uint64_t first) {
  const auto deadline = std::chrono::steady_clock::now() + plan_.rounds;
  const std::uint32_t total = plan_.looks.back().rounds;
  const std::uint32_t empty_every = std::max(1U, total / plan_.offset_calls);
  std::uint64_t number = 0;
  std::uint32_t looks = 0;
  for (const Look& look : plan_.looks) {
    while (windows_[Role::candidate].size() < look.rounds) {
      if (number % empty_every == 0)
        if (const auto empty = empty_call(); !empty) return empty;
      auto round = one(first + number++);
      if (!round) return tl::unexpected(round.error());
      if (round->void_reason.empty()) {
        for (const auto& [role, window] : round->window_us) windows_[role].push_back(window);
      } else {
        ++voided_[round->void_reason];
      }
      const std::uint64_t bad = number - windows_[Role::candidate].size();
      const auto share = plan_.void_share * std::max<double>(static_cast<double>(number), total);
      if (bad > kFirstVoidLimit && static_cast<double>(bad) > share)
        return tl::unexpected(Ending{Code::timing_unstable,
                                     std::to_string(bad) + " of " + std::to_string(number) +
                                         " rounds were disturbed by other work on the machine"});
      report_(static_cast<std::uint32_t>(windows_[Role::candidate].size()), total);
    }
    summarise(++looks, look.j);
    if (settled() || std::chrono::steady_clock::now() > deadline) break;
  }
  return {};
}

}  // namespace swage::judge
