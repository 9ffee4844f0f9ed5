#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"
#include "common/base/time.hpp"

namespace swage::controller {

/// Asks policy servers which weights they hold. Thread: one strand. Life: outlives its calls.
class PolicyInfo {
 public:
  virtual ~PolicyInfo() = default;
  /// The loaded weight version; nothing: no answer before the deadline.
  virtual Task<std::optional<std::uint64_t>> weight_version(std::string address, TimePoint deadline,
                                                            StopSource& stop) = 0;
};

std::unique_ptr<PolicyInfo> make_policy_info(std::string token);

}  // namespace swage::controller
