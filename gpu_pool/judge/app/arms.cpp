#include "gpu_pool/judge/app/arms.hpp"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>

#include "common/base/memory_file.hpp"
#include "gpu_pool/judge/adapters/spare_memory.hpp"
#include "gpu_pool/judge/app/endings.hpp"

namespace swage::judge {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kBirth{20000};
constexpr std::chrono::milliseconds kOrder{20000};
constexpr std::uint64_t kSpareBytes = 256UL << 20;  // stacks and mappings besides the arena

bool is_untrusted_work(Role role) { return role == Role::candidate || role == Role::twin; }

Ending cannot(const std::string& why) { return {Code::infra_error, why}; }

Result<void, Ending> write_all(const fs::path& folder,
                               const std::vector<std::pair<std::string, std::string>>& files) {
  for (const auto& [path, content] : files) {
    const fs::path at = folder / path;
    std::error_code failed;
    fs::create_directories(at.parent_path(), failed);
    const int file = ::open(at.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    const Descriptor open_file(file);
    if (file < 0 ||
        ::write(file, content.data(), content.size()) != static_cast<ssize_t>(content.size()))
      return tl::unexpected(cannot("cannot write the work space: " + at.string()));
  }
  return {};
}

/// Why a candidate's state cannot take the judge's weights; empty if it can.
std::string state_difference(const std::vector<StateTensor>& own,
                             const std::vector<StateTensor>& expected) {
  std::map<std::string, TensorSpec> named;
  for (const auto& tensor : own) named.emplace(tensor.name, tensor.spec);
  for (const auto& tensor : expected) {
    const auto found = named.find(tensor.name);
    if (found == named.end()) return "ModelNew has no state named '" + tensor.name + "'";
    if (found->second.shape != tensor.spec.shape || found->second.type != tensor.spec.type)
      return "state '" + tensor.name + "' is " + describe(found->second) + " and must be " +
             describe(tensor.spec);
    named.erase(found);
  }
  return named.empty() ? ""
                       : "ModelNew has a state '" + named.begin()->first + "' that Model lacks";
}

}  // namespace

Arms::Arms(Descriptor zygote, std::vector<HostParts> residents, ArmSettings settings,
           Machine& machine)
    : zygote_(std::move(zygote)), settings_(std::move(settings)), machine_(machine) {
  for (auto& parts : residents) {
    const Role role = parts.role;
    Host host(std::move(parts), machine_.of(role));
    // Without the guard every model keeps the weights that it made itself: so it must be new.
    if (!settings_.guards.weights && role != Role::task) continue;
    if (!host.adopt()) continue;  // a new one is made
    hosts_.emplace(role, std::move(host));
  }
}

Result<std::string, Ending> Arms::lay_task() {
  const std::string folder = settings_.scratch + "/task";
  if (fs::exists(folder)) return folder;
  const auto written = write_all(folder, {{"model.py", settings_.task_source}});
  if (!written) return tl::unexpected(written.error());
  return folder;
}

Result<std::string, Ending> Arms::lay_solution(const Solution& solution) {
  const std::string folder = settings_.scratch + "/candidate-" + std::to_string(workspaces_++);
  auto files = solution.files;
  std::erase_if(files, [](const auto& file) { return file.first == "model.py"; });
  if (!settings_.guards.workspace) files.emplace_back("model.py", settings_.task_source);
  const auto written = write_all(folder, files);
  if (!written) return tl::unexpected(written.error());
  return folder;
}

Result<Host*, Ending> Arms::spawn(Role role, const std::string& workspace) {
  HostOrder order;
  order.role = role;
  order.device = machine_.of(role).facts().kind;
  order.workspace = workspace;
  order.cpus = settings_.host_cores;
  if (is_untrusted_work(role)) {
    if (!settings_.guards.ns) order.without.emplace_back("namespaces");
    if (!settings_.guards.seccomp) order.without.emplace_back("seccomp");
  }
  Device& device = machine_.of(role);
  const std::uint64_t arena = device.arena_bytes(settings_.plan.arena_bytes);
  // The task's own hosts may take what the machine has to spare: one that needs more is refused by
  // an allocation that fails, not by the kernel's choice of a process.
  order.memory_bytes =
      (is_untrusted_work(role) ? settings_.memory_bytes : spare_memory()) + arena + kSpareBytes;
  auto parts = zygote_.spawn(order);
  if (!parts) return tl::unexpected(cannot(parts.error()));
  hosts_.erase(role);
  Host& host = hosts_.emplace(role, Host(std::move(*parts), machine_.of(role))).first->second;
  // The arena is address space, and memory only as far as results fill it.
  host.set_memory_limit(order.memory_bytes - arena);
  host.end_calls_by_standstill(settings_.guards.window || !is_untrusted_work(role));
  const auto lacking = host.greet(arena, settings_.guards.guardalloc, kBirth);
  if (!lacking)
    return tl::unexpected(cannot("a host does not start: " + task_ending(lacking.error()).detail));
  for (const auto& layer : *lacking)
    if (std::ranges::find(missing_, layer) == missing_.end()) missing_.push_back(layer);
  return &host;
}

Result<Host*, Ending> Arms::task() {
  if (has(Role::task)) return &host(Role::task);
  auto folder = lay_task();
  if (!folder) return tl::unexpected(folder.error());
  return spawn(Role::task, *folder);
}

Result<void, HostFailure> Arms::dress(Host& host, const Weights& weights, const Inputs& inputs,
                                      const DeviceMemory* writable) {
  const bool own_weights = !settings_.guards.weights;
  if (!own_weights) host.send(weights.message(), {weights.memory().descriptor()});
  auto map = inputs.map_message();
  map["writable"] =
      writable != nullptr || (is_untrusted_work(host.role()) && !settings_.guards.readonly);
  const auto& memory = writable != nullptr ? *writable : inputs.memory();
  host.send(map, {memory.descriptor()});
  if (!own_weights)
    if (const auto done = host.answer("weights", {}, kOrder); !done)
      return tl::unexpected(done.error());
  if (const auto done = host.answer("map", {}, kOrder); !done) return tl::unexpected(done.error());
  return host.arm(kOrder);
}

nlohmann::json Arms::load_message(const KnownTask& task) const {
  return {{"op", "load"},
          {"init_args", task.facts.init_args},
          {"init_seed", settings_.init_seed},
          {"watch", settings_.guards.dispatch},
          {"exact", settings_.guards.exact}};
}

Result<void, HostFailure> Arms::change_weights(Role role, const Weights& weights) {
  Host& changed = host(role);
  if (const auto parked = changed.park(kOrder); !parked) return parked;
  const auto set = changed.ask(weights.message(), {weights.memory().descriptor()}, {}, kOrder);
  if (!set) return tl::unexpected(set.error());
  return changed.arm(kOrder);
}

Result<void, Ending> Arms::begin_candidate(const Solution& solution, const KnownTask& task,
                                           Role role) {
  auto folder = lay_solution(solution);
  if (!folder) return tl::unexpected(folder.error());
  auto library = make_memory_file("cuda_extension", solution.library);
  if (!library) return tl::unexpected(cannot(library.error()));
  library_ = std::move(*library);
  const auto host = spawn(role, *folder);
  if (!host) return tl::unexpected(host.error());
  (*host)->send(load_message(task), {library_.get()});
  if (!settings_.guards.ast || has(Role::reader) || role == Role::twin) return {};
  const auto reader = spawn(Role::reader, *folder);
  if (!reader) return tl::unexpected(reader.error());
  (*reader)->send({{"op", "scan"}}, {});
  return {};
}

Result<std::vector<std::string>, Ending> Arms::source_findings() {
  std::vector<std::string> out;
  if (!has(Role::reader)) return out;
  const auto scanned = host(Role::reader).answer("scan", {"findings"}, settings_.plan.load);
  drop(Role::reader);
  if (!scanned) {
    // A source on which Python's own parser dies is not one that anybody writes by accident.
    out.emplace_back("the source cannot be read");
    return out;
  }
  const auto& findings = (*scanned)["findings"];
  if (findings.is_array())
    for (const auto& finding : findings)
      if (finding.is_string()) out.push_back(finding.get<std::string>());
  return out;
}

Result<void, Ending> Arms::finish_candidate(const KnownTask& task, const Weights& weights,
                                            const Inputs& inputs, const DeviceMemory* writable,
                                            Role role) {
  Host& candidate = host(role);
  const auto loaded = candidate.answer("load", {"state"}, settings_.plan.load);
  if (!loaded) return tl::unexpected(candidate_ending(loaded.error()));
  const auto state = parse_state((*loaded)["state"]);
  if (!state)
    return tl::unexpected(Ending{Code::protocol_error, "the candidate's state is malformed"});
  const auto why = state_difference(*state, task.facts.state);
  if (settings_.guards.weights && !why.empty())
    return tl::unexpected(Ending{Code::load_error, why});
  const auto dressed = dress(candidate, weights, inputs, writable);
  if (!dressed) return tl::unexpected(candidate_ending(dressed.error()));
  return {};
}

Result<void, Ending> Arms::prepare(Role role, const KnownTask& task, const Weights& weights,
                                   const Inputs& inputs) {
  if (!has(role)) {
    auto folder = lay_task();
    if (!folder) return tl::unexpected(folder.error());
    const auto made = spawn(role, *folder);
    if (!made) return tl::unexpected(made.error());
    const auto loaded = (*made)->ask(load_message(task), {}, {"state"}, settings_.plan.load);
    if (!loaded) return tl::unexpected(task_ending(loaded.error()));
  }
  const auto dressed = dress(host(role), weights, inputs, nullptr);
  if (!dressed) return tl::unexpected(task_ending(dressed.error()));
  return {};
}

bool Arms::end_candidate() {
  bool gone = true;
  for (const Role role : {Role::candidate, Role::twin}) {
    if (has(role)) gone = host(role).end(kOrder) && gone;
    drop(role);
  }
  return gone;
}

std::vector<HostParts> Arms::release_residents(bool keep_task_host) {
  std::vector<HostParts> out;
  for (auto& [role, host] : hosts_) {
    if (is_untrusted_work(role) || role == Role::reference || role == Role::reader) continue;
    if (role == Role::task && !keep_task_host) continue;
    if (host.armed() && !host.park(kOrder)) continue;
    if (role != Role::task && !host.ask({{"op", "release"}}, {}, {}, kOrder)) continue;
    out.push_back(host.release());
  }
  hosts_.clear();
  return out;
}

}  // namespace swage::judge
