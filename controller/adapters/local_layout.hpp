#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "controller/adapters/local_pod_backend.hpp"
#include "controller/adapters/out_directory.hpp"
#include "controller/api/resources.hpp"
#include "controller/api/run_layout.hpp"
#include "controller/core/workload_reconciler.hpp"

namespace swage::controller {

/// What is installed on this machine.
struct Installation {
  std::filesystem::path bin;           ///< the swage binaries
  std::filesystem::path share;         ///< share/swage
  std::filesystem::path python;        ///< interpreter of the torch environment
  std::filesystem::path torch;         ///< torch's package directory
  std::filesystem::path redis_server;  ///< redis-server
  std::filesystem::path cache;         ///< caches that outlive a run
  int cores = 1;                       ///< cores of this machine
};

/// Finds it. bin: where this program lies; path: the PATH to search; cache: swage's cache
/// directory. Errors: what is missing, each with the remedy.
Result<Installation, std::vector<std::string>> find_installation(
    const std::filesystem::path& bin, const std::string& path, const std::filesystem::path& cache);

/// Asks the sandbox's program whether its containers work on this machine. Blocking, some
/// milliseconds. Error: why not, with the remedy.
Result<void, std::string> check_containers(const std::filesystem::path& bin);

/// Names, addresses and configuration texts of a local run's pods (docs/PROCESSES.md).
class LocalLayout final : public RunLayout {
 public:
  LocalLayout(const OutDirectory& out, const RunFile& file, Installation installed,
              std::uint64_t evaluation_rollouts);

  /// Makes the secrets and the socket directory (0700), removing one that a killed controller left.
  Result<void, OutError> prepare(OutDirectory& out);
  /// Removes the socket directory.
  void clean_up() const;

  LocalBackendSettings backend_settings() const;
  std::vector<DesiredPod> desired_pods() const override;
  std::string pod_config(const std::string& name, Component component) const override;
  std::string sandbox_config(const std::string& name, const std::string& uid,
                             const std::string& token, unsigned agent_uid) const override;

  std::string controller_address() const { return address_of(name_ + "-controller"); }
  std::string learner_address() const override { return address_of(learner_pod()); }
  std::string redis_address() const { return "unix:" + redis_socket().string(); }
  std::string address_of(const std::string& pod) const override;
  std::string learner_pod() const { return name_ + "-learner-0"; }
  std::string redis_pod() const { return name_ + "-redis-0"; }
  std::filesystem::path tokenizer() const;
  const std::filesystem::path& token_file() const { return token_file_; }
  const std::filesystem::path& redis_password_file() const { return redis_password_file_; }
  const std::filesystem::path& sandbox_key_file() const { return sandbox_key_file_; }

 private:
  std::filesystem::path redis_socket() const { return sockets_ / "redis.sock"; }
  std::filesystem::path sandbox_root() const { return sockets_ / "sandboxes"; }
  nlohmann::json common_fields(const std::string& name) const;
  nlohmann::json policy_fields() const;
  nlohmann::json learner_fields() const;
  nlohmann::json rollout_fields() const;
  nlohmann::json gpu_fields() const;
  nlohmann::json redis_fields() const;
  std::string redis_config() const;

  std::filesystem::path out_;
  std::string run_uid_;
  RunFile file_;
  std::string name_;
  Installation installed_;
  std::uint64_t evaluation_rollouts_;
  std::filesystem::path sockets_;
  std::filesystem::path token_file_, redis_password_file_, verdict_key_file_, sandbox_key_file_;
};

}  // namespace swage::controller
