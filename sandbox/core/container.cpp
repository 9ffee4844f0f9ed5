#include "sandbox/core/container.hpp"

#include <set>

namespace swage::sandbox {
namespace {

void add(std::vector<std::string>& argv, std::initializer_list<std::string> more) {
  argv.insert(argv.end(), more);
}

/// Every directory above `path`, from the top. bubblewrap would make them for its own user alone.
void add_parents(std::vector<std::string>& argv, const std::string& path,
                 std::set<std::string>& made) {
  for (auto at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    const auto parent = path.substr(0, at);
    if (made.insert(parent).second) add(argv, {"--perms", "0755", "--dir", parent});
  }
}

void add_mount(std::vector<std::string>& argv, const Mount& mount, std::set<std::string>& made) {
  add_parents(argv, mount.target, made);
  made.insert(mount.target);
  switch (mount.kind) {
    case Mount::Kind::read_only:
      return add(argv, {"--ro-bind", mount.source, mount.target});
    case Mount::Kind::writable:
      return add(argv, {"--bind", mount.source, mount.target});
    case Mount::Kind::temporary:
      return add(argv, {"--size", std::to_string(mount.bytes), "--tmpfs", mount.target});
    case Mount::Kind::link:
      return add(argv, {"--symlink", mount.source, mount.target});
  }
}

}  // namespace

std::vector<std::string> bwrap_argv(const ContainerSpec& spec, const std::vector<Mount>& system) {
  std::vector<std::string> argv{spec.bwrap,          "--unshare-pid", "--unshare-net",
                                "--unshare-ipc",     "--unshare-uts", "--unshare-cgroup-try",
                                "--die-with-parent", "--new-session"};
  if (spec.user_namespace) {
    const auto id = std::to_string(spec.inner_uid);
    add(argv, {"--unshare-user", "--uid", id, "--gid", id});
  }
  add(argv, {"--cap-drop", "ALL"});
  if (spec.may_switch_user)
    for (const char* capability : {"CAP_SETUID", "CAP_SETGID", "CAP_CHOWN", "CAP_FOWNER"})
      add(argv, {"--cap-add", capability});
  if (spec.first_process) argv.emplace_back("--as-pid-1");
  std::set<std::string> made{"/dev", "/proc"};
  for (const auto& mount : system) add_mount(argv, mount, made);
  add(argv, {"--proc", "/proc", "--dev", "/dev"});
  add_mount(argv, {Mount::Kind::temporary, "", "/dev/shm", std::uint64_t{64} << 20}, made);
  for (const auto& mount : spec.mounts) add_mount(argv, mount, made);
  add(argv, {"--remount-ro", "/dev", "--remount-ro", "/"});
  if (!spec.working_directory.empty()) add(argv, {"--chdir", spec.working_directory});
  argv.emplace_back("--");
  argv.insert(argv.end(), spec.command.begin(), spec.command.end());
  return argv;
}

std::vector<std::string> prlimit_argv(const ProcessLimits& limits) {
  std::vector<std::string> argv{"/usr/bin/prlimit", "--core=0"};
  const auto set = [&](const char* name, std::uint64_t value) {
    if (value > 0) argv.push_back(std::string("--") + name + "=" + std::to_string(value));
  };
  set("as", limits.address_bytes);
  set("fsize", limits.file_bytes);
  set("cpu", limits.cpu_seconds);
  set("nproc", limits.processes);
  argv.emplace_back("--");
  return argv;
}

}  // namespace swage::sandbox
