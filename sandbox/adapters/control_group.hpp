#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace swage::sandbox {

/// Directories below which this process may make control groups that bound memory and processes:
/// one for cgroup v2, two (memory, pids) for v1, none where it may not.
std::vector<std::filesystem::path> usable_cgroup_parents();

/// One control group for one container, in each hierarchy. Made by the constructor, killed and
/// removed by the destructor. Groups of dead processes of ours are removed on the way.
class ControlGroup {
 public:
  ControlGroup(std::vector<std::filesystem::path> parents, const std::string& name,
               std::uint64_t memory_bytes, std::uint64_t processes);
  ~ControlGroup();
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

  /// A command line that enters the group and becomes `argv`.
  std::vector<std::string> wrap(const std::vector<std::string>& argv) const;
  /// SIGKILL to every process in it.
  void kill() const;
  /// No process is left in it.
  bool empty() const;
  bool active() const { return !groups_.empty(); }

 private:
  std::vector<std::filesystem::path> groups_;
};

}  // namespace swage::sandbox
