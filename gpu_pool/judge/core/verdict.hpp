#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpu_pool/judge/core/outcome.hpp"

namespace swage::judge {

/// One correctness check.
struct CheckRecord {
  std::string kind;  ///< `random`, `repeat`, `hidden`, `weights_b`, `timed`
  std::string distribution;
  std::uint32_t set = 0;
  std::uint64_t elements = 0;
  double max_abs = 0;
  bool passed = false;
  std::optional<double> rel_l2 = std::nullopt;  ///< of the precision rule, where it was evaluated
  std::optional<double> eager_rel_l2 = std::nullopt;
  std::optional<double> limit = std::nullopt;  ///< on rel_l2
};

/// A rule of the policy that the candidate breaks.
struct PolicyFinding {
  std::string rule;
  std::string detail;  ///< may quote untrusted text
};

/// Medians of one arm.
struct ArmRecord {
  double raw_us = 0;
  double calibrated_us = 0;
  double cv = 0;
};

/// What the rounds showed.
struct TimingRecord {
  std::uint32_t rounds = 0;
  std::uint32_t looks = 0;
  std::map<std::string, std::uint32_t> voided;
  double offset_us = 0;
  std::optional<ArmRecord> candidate;
  std::optional<ArmRecord> eager;
  std::optional<ArmRecord> compile;
  std::optional<ArmRecord> twin;
  std::optional<Interval> q_eager;
  std::optional<Interval> q_compile;
  std::optional<Interval> q_twin;       // candidate / the same in a second process
  std::optional<Interval> q_reference;  // compile / eager, where no candidate is measured
};

/// Everything that one evaluation found out; adapters/verdict_codec.hpp makes a swage.v1.Verdict of
/// it. What was not measured is absent.
struct VerdictRecord {
  Ending ending{Code::ok, ""};
  std::string phase;
  std::string solution_digest;
  std::string library_digest;
  std::string toolchain;
  std::string device_kind = "cpu";
  std::string device_name;
  std::string device_driver;
  std::string device_uuid;
  std::string torch;
  std::vector<std::string> missing_layers;
  std::string root_seed;
  std::vector<CheckRecord> checks;
  std::optional<bool> precision_pass;  ///< absent: not evaluated
  std::vector<PolicyFinding> policy;
  std::optional<TimingRecord> timing;
  std::uint32_t tier = 0;
  std::optional<double> reward;
  std::map<std::string, std::uint32_t> phase_ms;
  std::uint32_t total_ms = 0;
  std::string log;  ///< candidate's output, raw
};

}  // namespace swage::judge
