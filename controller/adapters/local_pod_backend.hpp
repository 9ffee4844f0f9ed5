#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/asio/asio.hpp"
#include "common/asio/clock.hpp"
#include "controller/api/pod_backend.hpp"

namespace swage::controller {

/// How pods run on this machine.
struct LocalBackendSettings {
  std::filesystem::path pods;  ///< directory of configurations and ready files, exists
  std::filesystem::path logs;  ///< directory of <pod>.log, exists
  /// Command line of each component; the configuration's path is appended.
  std::map<Component, std::vector<std::string>> programs;
  /// What to do when a program is missing, for people.
  std::map<Component, std::string> remedies;
  /// Cores of each component; absent: all.
  std::map<Component, std::vector<int>> cores;
  /// Where Redis listens: it is ready once it accepts a connection there.
  std::filesystem::path redis_socket;
};

/// Pods as child processes: own process group, parent-death signal, pidfd, logs in files. A pod is
/// ready when its ready file appears (docs/PROCESSES.md).
/// Thread: the strand it was made on, and that strand must run on the thread that calls create():
/// the parent-death signal is bound to it. Life: await close() before it goes.
class LocalPodBackend : public PodBackend {
 public:
  /// Kills every pod that is left and waits for its end.
  virtual Task<> close() = 0;
};

/// Errors: the ready files cannot be watched.
Result<std::unique_ptr<LocalPodBackend>, PodError> make_local_pod_backend(
    asio::any_io_executor strand, Clock& clock, LocalBackendSettings settings);

}  // namespace swage::controller
