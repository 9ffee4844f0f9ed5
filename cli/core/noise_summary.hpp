#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace swage::cli {

/// What many measurements of one kernel against itself say. Neither arm is faster, so each verdict
/// that says so is false.
class NoiseSummary {
 public:
  /// verdict: as common/view/trajectory_json.hpp prints one.
  void add(const nlohmann::json& verdict);
  std::uint32_t runs() const { return runs_; }
  /// Runs in which one of the two equal arms was called faster.
  std::uint32_t false_verdicts() const { return faster_ + slower_; }
  /// Every run ended `ok` or `timing_unstable`, and none called one arm faster.
  bool sound() const;

  nlohmann::json record() const;
  std::string text() const;

 private:
  std::uint32_t runs_ = 0;
  std::uint32_t faster_ = 0;  // the first arm, by at least 5 %
  std::uint32_t slower_ = 0;
  std::map<std::string, std::uint32_t> codes_;
  std::vector<double> distances_;  // |median ratio - 1|
};

}  // namespace swage::cli
