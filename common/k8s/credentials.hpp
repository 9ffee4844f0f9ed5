#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "common/base/time.hpp"

namespace swage::k8s {

/// The bearer token of one identity. One that comes from a file is read again every minute, and
/// when the server refuses it; while the file cannot be read the last one stays. Thread: one.
class Credentials {
 public:
  static constexpr Duration kPeriod = std::chrono::minutes(1);

  Credentials(std::string token, std::filesystem::path file);

  /// Empty: none (a client certificate says who we are).
  const std::string& token(TimePoint now);
  /// The server has refused token(): reads the file. False: there is no file, so asking again is
  /// useless.
  bool refused(TimePoint now);

 private:
  void read(TimePoint now);

  std::string token_;
  std::filesystem::path file_;
  std::optional<TimePoint> read_at_;
};

}  // namespace swage::k8s
