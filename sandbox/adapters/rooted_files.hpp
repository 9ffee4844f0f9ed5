#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "sandbox/api/bundle.hpp"
#include "sandbox/core/work_path.hpp"

namespace swage::sandbox {

/// A file found by a walk.
struct FoundFile {
  std::string path;  ///< absolute
  std::int64_t changed_ns = 0;
};

/// The agent's files below its two roots, opened so that no symbolic link and no `..` leads out:
/// the kernel resolves each path beneath the root (openat2), whatever changes meanwhile. Blocking
/// calls; one thread. Errors are sentences for the agent.
class RootedFiles {
 public:
  explicit RootedFiles(AgentRoots roots);
  ~RootedFiles();
  RootedFiles(const RootedFiles&) = delete;
  RootedFiles& operator=(const RootedFiles&) = delete;

  /// Content of a regular file of at most 8 MiB.
  Result<std::string, std::string> read(const RootedPath& path) const;
  /// Whether something lies there.
  bool exists(const RootedPath& path) const;
  /// Whether a path leads to something without a symbolic link on the way; a sentence otherwise.
  Result<void, std::string> check_reachable(const RootedPath& path) const;
  /// Replaces or makes a file, and the directories above it: afterwards the old content or the new
  /// one is there.
  Result<void, std::string> write(const RootedPath& path, std::string_view content) const;
  /// Regular files below a directory, links not followed, at most 20,000; hidden ones included.
  Result<std::vector<FoundFile>, std::string> walk(const RootedPath& directory) const;
  /// What is handed in of the work directory. Error: too many, or one too large.
  Result<std::vector<WorkFile>, std::string> collect() const;

  const AgentRoots& roots() const { return roots_; }

 private:
  int root_of(const RootedPath& path) const { return path.in_work ? work_ : temporary_; }
  AgentRoots roots_;
  int work_ = -1, temporary_ = -1;
};

}  // namespace swage::sandbox
