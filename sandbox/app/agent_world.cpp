#include "sandbox/app/agent_world.hpp"

#include <unistd.h>

#include <algorithm>

#include "common/base/digest.hpp"
#include "common/base/files.hpp"
#include "sandbox/app/runner.hpp"
#include "sandbox/core/work_layout.hpp"

namespace swage::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWork = "/workspace/task";
constexpr const char* kRun = "/run/swage";
constexpr const char* kPrograms = "/opt/swage";

Result<void, std::string> write(const fs::path& path, const std::string& content,
                                fs::perms mode = fs::perms(0444)) {
  std::error_code code;
  fs::create_directories(path.parent_path(), code);
  if (const auto wrote = write_file_durably(path, content, 0644); !wrote)
    return tl::unexpected(wrote.error().message);
  fs::permissions(path, mode, code);
  return {};
}

std::string passwd_line(uid_t uid) {
  const auto id = std::to_string(uid);
  return "root:x:0:0::/:/usr/sbin/nologin\nagent:x:" + id + ":" + id + "::/tmp:/bin/bash\n";
}

}  // namespace

AgentWorld::AgentWorld(const SandboxConfig& config, const HostFacts& host)
    : config_(config), host_(host), directory_(config.root_directory / "session") {}

AgentWorld::~AgentWorld() {
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

Result<std::unique_ptr<AgentWorld>, std::string> AgentWorld::lay(const SandboxConfig& config,
                                                                 const HostFacts& host,
                                                                 const LayWork& work) {
  if (sha256_hex(work.source) != work.digest)
    return tl::unexpected("the source of task " + work.task_id + " does not have its digest");
  if (work.source.size() > kMaxFileBytes)
    return tl::unexpected("the source of task " + work.task_id + " is larger than 1 MiB");
  std::unique_ptr<AgentWorld> world(new AgentWorld(config, host));
  if (auto laid = world->lay_files(work); !laid) return tl::unexpected(laid.error());
  return world;
}

Result<void, std::string> AgentWorld::lay_files(const LayWork& work) {
  const auto pristine = directory_ / "pristine";
  const auto& from = config_.template_directory;
  std::error_code code;
  fs::remove_all(directory_, code);
  for (const auto& entry : fs::recursive_directory_iterator(from, code)) {
    if (!entry.is_regular_file()) continue;
    const auto name = fs::relative(entry.path(), from).generic_string();
    auto content = read_file(entry.path());
    if (!content) return tl::unexpected(content.error().message);
    if (name == "SKILL.md") *content = for_device_kind(*content, work.device_kind);
    const auto mode = name.starts_with("bin/") ? fs::perms(0555) : fs::perms(0444);
    if (auto wrote = write(pristine / name, *content, mode); !wrote) return wrote;
    if (std::ranges::find(template_sources(), name) != template_sources().end())
      bundled_.push_back({name, 0444, std::move(*content)});
  }
  if (bundled_.size() != template_sources().size())
    return tl::unexpected("there is no work directory template in " + from.string() +
                          "; set template_directory");
  if (auto wrote = write(pristine / "model.py", work.source); !wrote) return wrote;
  bundled_.push_back({"model.py", 0444, work.source});
  const auto uid = config_.agent_uid.value_or(::geteuid());
  if (auto wrote = write(directory_ / "etc/passwd", passwd_line(uid)); !wrote) return wrote;
  const auto group = "agent:x:" + std::to_string(uid) + ":\n";
  if (auto wrote = write(directory_ / "etc/group", group); !wrote) return wrote;
  if (config_.pod) return show_in_pod();
  for (const auto& made : {directory_ / "run", host_work(), host_temporary()})
    fs::create_directories(made, code);
  if (!host_.containers)
    for (const auto& name : protected_names())
      fs::copy(pristine / name, host_work() / name, fs::copy_options::recursive, code);
  return {};
}

/// Protected files are ours, and the directory is sticky: another user can neither change, move nor
/// remove them.
Result<void, std::string> AgentWorld::show_in_pod() const {
  const auto pristine = directory_ / "pristine";
  const auto recursive = fs::copy_options::recursive | fs::copy_options::overwrite_existing;
  std::error_code code;
  fs::create_directories(host_work(), code);
  if (!code) fs::permissions(host_work(), fs::perms::all | fs::perms::sticky_bit, code);
  for (const auto& name : protected_names())
    if (!code) fs::copy(pristine / name, host_work() / name, recursive, code);
  if (!code) fs::copy(pristine / "bin", config_.pod->shared / "bin", recursive, code);
  for (const auto& folder : {host_work() / "utils", config_.pod->shared / "bin"})
    if (!code) fs::permissions(folder, fs::perms(0555), code);
  if (code) return tl::unexpected("cannot lay " + host_work().string() + ": " + code.message());
  return {};
}

std::string AgentWorld::work_directory() const {
  return host_.containers ? kWork : host_work().string();
}

std::vector<Mount> AgentWorld::mounts(const fs::path& program) const {
  using Kind = Mount::Kind;
  const auto pristine = directory_ / "pristine";
  std::vector<Mount> out{
      {Kind::temporary, "", "/tmp", config_.temporary_bytes},
      {Kind::temporary, "", kWork, config_.work_bytes},
      {Kind::read_only, (directory_ / "run").string(), kRun},
      {Kind::read_only, (pristine / "bin").string(), std::string(kPrograms) + "/bin"},
      {Kind::read_only, program.string(), std::string(kPrograms) + "/lib/swage-sandboxd"},
      {Kind::read_only, (directory_ / "etc/passwd").string(), "/etc/passwd"},
      {Kind::read_only, (directory_ / "etc/group").string(), "/etc/group"}};
  for (const auto& name : protected_names())
    out.push_back({Kind::read_only, (pristine / name).string(), std::string(kWork) + "/" + name});
  return out;
}

RunnerSettings AgentWorld::runner_settings() const {
  const bool inside = host_.containers;
  const auto programs = inside        ? fs::path(kPrograms) / "bin"
                        : config_.pod ? config_.pod->shared / "bin"
                                      : directory_ / "pristine/bin";
  RunnerSettings runner;
  if (host_.root) runner.uid = config_.agent_uid;
  if (!inside) runner.uid = std::nullopt;  // could not reach our directories
  runner.roots = {work_directory(), inside ? "/tmp" : host_temporary().string()};
  runner.sandbox_socket = inside ? std::string(kRun) + "/sandboxd.sock" : desk_socket().string();
  runner.tool_path = programs.string() + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
  runner.limits = config_.limits;
  return runner;
}

AgentContainerSpec AgentWorld::container(const fs::path& program) const {
  const bool inside = host_.containers;
  AgentContainerSpec spec;
  spec.name = config_.process.name.empty() ? "sandbox" : config_.process.name;
  spec.mounts = mounts(program);
  spec.working_directory = kWork;
  spec.command = {inside ? std::string(kPrograms) + "/lib/swage-sandboxd" : program.string(),
                  "runner", "--settings", to_json_text(runner_settings())};
  spec.log = directory_ / "runner.log";
  if (host_.root) spec.agent_uid = config_.agent_uid;
  spec.memory_bytes = config_.memory_bytes;
  spec.processes = config_.limits.processes;
  return spec;
}

}  // namespace swage::sandbox
