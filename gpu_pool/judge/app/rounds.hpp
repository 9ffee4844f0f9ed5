#pragma once

#include <functional>

#include "gpu_pool/judge/app/arms.hpp"
#include "gpu_pool/judge/app/checker.hpp"
#include "gpu_pool/judge/core/quiet.hpp"

namespace swage::judge {

/// The measured part of an evaluation (design judge.md, section 4): rounds of all arms in random
/// order on fresh inputs, until the stopping rule is content. Thread: one.
class Rounds {
 public:
  using Report = std::function<void(std::uint32_t done, std::uint32_t total)>;
  Rounds(Subject subject, const Plan& plan, const Guards& guards, const Root& root,
         Machine& machine, Arms& arms, Inputs& inputs, Checker& checker, Report report);

  /// Errors: what the candidate did wrong in a timed call, or timing_unstable. On success
  /// timing() is filled. `first` numbers the first round: no number may come twice
  /// in one evaluation, for it decides content and order.
  Result<void, Ending> run(std::uint64_t first);
  const std::optional<TimingRecord>& timing() const { return timing_; }
  const std::vector<CheckRecord>& checks() const { return checks_; }
  std::uint32_t tier() const { return tier_; }

 private:
  struct Round {
    std::map<Role, double> window_us;
    std::vector<double> mhz;  // of each call, where the device's clock may change
    std::string void_reason;  // empty: it counts
  };
  Result<Round, Ending> one(std::uint64_t number);
  Result<Host::Call, Ending> timed_call(Role role, Round& round);
  bool settle(Role role);
  Result<void, Ending> count_void(std::uint64_t number, std::uint32_t total);
  Result<void, Ending> empty_call();
  std::vector<Role> order(std::uint64_t number) const;
  Result<void, Ending> check_results(std::uint64_t number, std::map<Role, CallOutputs>& outputs);
  std::size_t valid() const;
  void summarise(std::uint32_t looks, std::size_t j);
  std::optional<ArmRecord> arm(Role role, double offset) const;
  std::optional<Interval> ratio(Role over, Role under, double offset, std::size_t j) const;
  bool settled() const;

  const Subject subject_;
  const std::vector<Role> roles_;
  const Plan& plan_;
  const Guards& guards_;
  const Root& root_;
  Room& room_;
  Device& device_;
  Arms& arms_;
  Inputs& inputs_;
  Checker& checker_;
  Report report_;
  std::map<Role, std::vector<double>> windows_;  // of valid rounds; one list for each of roles_
  std::vector<double> empties_;
  std::map<Role, BusyCount> busy_;
  std::map<std::string, std::uint32_t> voided_;
  double call_limit_us_ = 0;
  std::optional<TimingRecord> timing_;
  std::vector<CheckRecord> checks_;
  std::uint32_t tier_ = 0;
};

}  // namespace swage::judge
