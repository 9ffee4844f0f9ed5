#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sandbox/adapters/agent_container.hpp"
#include "sandbox/api/bundle.hpp"
#include "sandbox/api/session_link.hpp"
#include "sandbox/app/config.hpp"
#include "sandbox/app/runner.hpp"

namespace swage::sandbox {

/// Where an agent works, as sandboxd lays it: the pristine protected files, kept here, and the
/// container that shows them read-only. One session's; gone with it.
class AgentWorld {
 public:
  /// Writes the pristine files below config.root_directory. Error: a sentence, e.g. a task whose
  /// source does not have its digest, or a full disk.
  static Result<std::unique_ptr<AgentWorld>, std::string> lay(const SandboxConfig& config,
                                                              const HostFacts& host,
                                                              const LayWork& work);
  ~AgentWorld();
  AgentWorld(const AgentWorld&) = delete;
  AgentWorld& operator=(const AgentWorld&) = delete;

  /// Protected files that belong into every bundle: model.py and the binding's two.
  const std::vector<WorkFile>& bundled() const { return bundled_; }
  /// Where the desk's socket must be made.
  std::filesystem::path desk_socket() const {
    return (config_.pod ? config_.pod->shared : directory_ / "run") / "sandboxd.sock";
  }
  /// The work directory as the agent sees it.
  std::string work_directory() const;
  /// How to start the runner in it. program: this binary.
  AgentContainerSpec container(const std::filesystem::path& program) const;
  /// What a runner has to know.
  RunnerSettings runner_settings() const;

 private:
  AgentWorld(const SandboxConfig& config, const HostFacts& host);
  Result<void, std::string> lay_files(const LayWork& work);
  std::vector<Mount> mounts(const std::filesystem::path& program) const;
  Result<void, std::string> show_in_pod() const;
  std::filesystem::path host_work() const {
    return config_.pod ? config_.pod->work : directory_ / "work";
  }
  std::filesystem::path host_temporary() const {
    return config_.pod ? std::filesystem::path("/tmp") : directory_ / "tmp";
  }

  const SandboxConfig& config_;
  const HostFacts& host_;
  std::filesystem::path directory_;
  std::vector<WorkFile> bundled_;
};

}  // namespace swage::sandbox
