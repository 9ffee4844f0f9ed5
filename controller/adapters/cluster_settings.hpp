#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "common/config/fields.hpp"
#include "common/log/log.hpp"
#include "controller/adapters/pod_ports.hpp"
#include "controller/api/pod_backend.hpp"
#include "learner/api/settings.hpp"

namespace swage::controller {

/// The operator's configuration (docs/PROCESSES.md, "In a cluster").
struct ClusterSettings {
  std::string service;  ///< what learners and rollout workers dial
  std::string listen = grpc_at("0.0.0.0");
  std::string http = http_at("0.0.0.0");
  std::vector<std::string> watch_namespaces;
  std::vector<std::string> pool_namespaces;
  std::filesystem::path token_file = "/etc/swage/internal/token";
  std::filesystem::path sandbox_key_file = "/etc/swage/key/key";
  std::filesystem::path redis_directory = "/etc/swage/redis";
  std::map<Component, std::string> images;
  std::string image_pull_policy = "IfNotPresent";
  std::vector<std::string> image_pull_secrets;
  std::string workload_account = "swage-workload";
  std::string sandbox_account = "swage-sandbox";
  std::string gpu_account = "swage-gpu";
  std::string python_host_path;  ///< empty: the images bring their Python
  std::string sandbox_runtime_class;
  std::string sandbox_priority_class;
  bool require_network_policy = true;
  /// What no sandbox may reach, `IP:port`; not read from the file.
  std::vector<std::string> must_not_reach;
  double sandbox_create_rate = 20;
  std::uint64_t evaluation_rollouts = learner::Settings{}.evaluation_rollouts;
  LogLevel log_level = LogLevel::info;
  bool log_json = true;
};

/// Errors: each complaint names file and field.
Result<ClusterSettings, ConfigError> read_cluster_settings(const std::filesystem::path& file);

/// The API server (`https://host:port`), this process and the name server, as far as they are known
/// by IP: a sandbox resolves no names.
std::vector<std::string> must_not_reach(const std::string& server, const std::string& own_host,
                                        const std::string& resolv_conf);

/// Secrets as files. Read once at the start: who changes them restarts the operator.
struct ClusterSecrets {
  std::string token;
  std::string sandbox_key;
  std::string redis_address;  ///< `host:port`
  std::string redis_password;
};
/// Errors: which file is missing or wrong, with the remedy.
Result<ClusterSecrets, std::string> read_cluster_secrets(const ClusterSettings& settings);

}  // namespace swage::controller
