#include "sandbox/adapters/control_group.hpp"

#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <sstream>
#include <thread>

namespace swage::sandbox {
namespace {

namespace fs = std::filesystem;
constexpr const char* kPrefix = "swage-sandbox-";

bool write_value(const fs::path& file, const std::string& value) {
  std::ofstream out(file);
  out << value;
  out.flush();
  return out.good();
}

/// This process's group per controller; the empty name stands for v2.
std::map<std::string, std::string> own_groups() {
  std::map<std::string, std::string> out;
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::istringstream names(line.substr(first + 1, second - first - 1));
    const auto path = line.substr(second + 1);
    std::string name;
    if (names.str().empty()) out[""] = path;
    while (std::getline(names, name, ',')) out[name] = path;
  }
  return out;
}

/// Whether a group with these limit files can be made here and taken away again.
bool try_parent(const fs::path& parent, const std::vector<const char*>& files) {
  const auto probe = parent / (kPrefix + std::to_string(::getpid()) + "-probe");
  std::error_code error;
  fs::create_directory(probe, error);
  if (error) return false;
  bool ok = ::access((probe / "cgroup.procs").c_str(), W_OK) == 0;
  for (const char* file : files) ok = ok && ::access((probe / file).c_str(), W_OK) == 0;
  ::rmdir(probe.c_str());
  return ok;
}

/// Groups named after a process that is no more.
void remove_stale(const fs::path& parent) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    const auto name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    const auto pid = name.substr(std::string(kPrefix).size());
    if (!fs::exists("/proc/" + pid.substr(0, pid.find('-')), error)) ::rmdir(entry.path().c_str());
  }
}

std::vector<pid_t> members(const fs::path& group) {
  std::vector<pid_t> out;
  std::ifstream in(group / "cgroup.procs");
  for (pid_t pid = 0; in >> pid;) out.push_back(pid);
  return out;
}

}  // namespace

std::vector<fs::path> usable_cgroup_parents() {
  const auto own = own_groups();
  if (own.contains("memory") && own.contains("pids")) {
    std::vector<fs::path> out{"/sys/fs/cgroup/memory" + own.at("memory"),
                              "/sys/fs/cgroup/pids" + own.at("pids")};
    if (try_parent(out[0], {"memory.limit_in_bytes"}) && try_parent(out[1], {"pids.max"}))
      return out;
    return {};
  }
  if (!own.contains("")) return {};
  // In v2 a group with processes has no children with controllers: ours go beside, not below.
  const fs::path group = "/sys/fs/cgroup" + own.at("");
  for (const auto& parent : {group, group.parent_path()})
    if (try_parent(parent, {"memory.max", "pids.max"})) return {parent};
  return {};
}

ControlGroup::ControlGroup(std::vector<fs::path> parents, const std::string& name,
                           std::uint64_t memory_bytes, std::uint64_t processes) {
  for (const auto& parent : parents) {
    remove_stale(parent);
    const auto group = parent / (kPrefix + std::to_string(::getpid()) + "-" + name);
    std::error_code error;
    fs::create_directory(group, error);
    if (error) continue;
    groups_.push_back(group);
    for (const char* file : {"memory.limit_in_bytes", "memory.max"})
      if (fs::exists(group / file, error)) write_value(group / file, std::to_string(memory_bytes));
    for (const char* file : {"memory.memsw.limit_in_bytes", "memory.swap.max"})
      if (fs::exists(group / file, error))
        write_value(group / file,
                    std::string(file).ends_with("swap.max") ? "0" : std::to_string(memory_bytes));
    if (fs::exists(group / "pids.max", error))
      write_value(group / "pids.max", std::to_string(processes));
  }
}

ControlGroup::~ControlGroup() {
  using namespace std::chrono_literals;
  const auto deadline = std::chrono::steady_clock::now() + 1s;  // less than sandboxd itself has
  while (!empty() && std::chrono::steady_clock::now() < deadline) {
    kill();
    std::this_thread::sleep_for(2ms);
  }
  for (const auto& group : groups_) ::rmdir(group.c_str());
}

std::vector<std::string> ControlGroup::wrap(const std::vector<std::string>& argv) const {
  if (groups_.empty()) return argv;
  std::string script;
  for (const auto& group : groups_)
    script += "echo 0 > '" + (group / "cgroup.procs").string() + "' || exit 125; ";
  std::vector<std::string> out{"/bin/sh", "-c", script + "exec \"$@\"", "sh"};
  out.insert(out.end(), argv.begin(), argv.end());
  return out;
}

void ControlGroup::kill() const {
  for (const auto& group : groups_)
    for (const auto pid : members(group)) ::kill(pid, SIGKILL);
}

bool ControlGroup::empty() const {
  for (const auto& group : groups_)
    if (!members(group).empty()) return false;
  return true;
}

}  // namespace swage::sandbox
