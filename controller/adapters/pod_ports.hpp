#pragma once

#include <string>

namespace swage::controller {

/// Where every pod of a cluster serves.
inline constexpr int kGrpcPort = 7070;
inline constexpr int kHttpPort = 8081;

inline std::string grpc_at(const std::string& host) {
  return host + ":" + std::to_string(kGrpcPort);
}
inline std::string http_at(const std::string& host) {
  return host + ":" + std::to_string(kHttpPort);
}

}  // namespace swage::controller
