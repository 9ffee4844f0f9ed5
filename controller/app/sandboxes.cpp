#include "controller/app/sandboxes.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/digest.hpp"
#include "common/base/stop_graces.hpp"
#include "common/log/log.hpp"

namespace swage::controller {
namespace {

constexpr auto kGrace = kSandboxStop.grace;
constexpr unsigned kFirstUid = 20000;
constexpr unsigned kUids = 40000;
constexpr int kNotIsolated = 77;  ///< sandboxd's exit code (docs/PROCESSES.md)

SandboxSettings settings_of(const TrainingRun& run, double create_rate) {
  SandboxSettings out;
  out.create_rate = create_rate;
  out.warm_min = static_cast<std::uint64_t>(run.sandbox.warm_min);
  out.warm_max = static_cast<std::uint64_t>(run.sandbox.warm_max);
  return out;
}

}  // namespace

Sandboxes::Sandboxes(PodBackend& backend, const RunLayout& layout, const TrainingRun& run,
                     double create_rate, Clock& clock, Gate& gate, std::string key,
                     std::function<void(PodError)> failed)
    : backend_(backend),
      layout_(layout),
      run_(run.name),
      space_(run.space),
      clock_(clock),
      gate_(gate),
      key_(std::move(key)),
      failed_(std::move(failed)),
      pool_(settings_of(run, create_rate)) {}

void Sandboxes::pump(std::uint64_t rollouts_left, const std::set<std::string>& live) {
  if (closing_) return;
  auto wanted = pool_.tick(clock_.now(), rollouts_left, live);
  for (std::uint64_t i = 0; i < wanted.create; ++i) create();
  for (const auto& uid : wanted.remove)
    if (known_.contains(uid))
      std::ignore =
          gate_.spawn("end " + known_.at(uid).name, end(uid, known_.at(uid).name, kGrace));
}

std::string Sandboxes::token_of(const std::string& name) const {
  return to_hex(hmac_sha256(key_, "sandbox" + space_ + name));
}

void Sandboxes::adopt(const LivePod& pod) {
  Known known;
  known.name = pod.name;
  known.token = token_of(pod.name);
  known_[pod.uid] = std::move(known);
  pool_.adopted(pod.uid, pod.claimed, clock_.now());
}

void Sandboxes::create() {
  const auto uid = to_hex(random_bytes(16));
  Known known;
  known.name = "sbx-" + run_ + "-" + to_hex(random_bytes(8));
  known.token = token_of(known.name);
  known.agent_uid = draw_agent_uid();
  PodSpec spec{known.name, uid, Component::sandbox,
               layout_.sandbox_config(known.name, uid, known.token, known.agent_uid)};
  known_[uid] = std::move(known);
  pool_.created(uid, clock_.now());
  const auto task = "start " + spec.name;
  std::ignore = gate_.spawn(task, start(uid, std::move(spec)));
}

/// A user id that no other sandbox of this run has: process limits count per user.
unsigned Sandboxes::draw_agent_uid() const {
  while (true) {
    const auto bytes = random_bytes(2);
    const auto drawn = (static_cast<unsigned>(static_cast<unsigned char>(bytes[0])) << 8U) |
                       static_cast<unsigned char>(bytes[1]);
    const unsigned uid = kFirstUid + (drawn % kUids / 2) * 2 + 1;
    const bool taken = std::any_of(known_.begin(), known_.end(), [&](const auto& entry) {
      return entry.second.agent_uid == uid;
    });
    if (!taken) return uid;
  }
}

Task<> Sandboxes::start(std::string uid, PodSpec spec) {
  const auto made = co_await backend_.create(std::move(spec));
  if (made) co_return;
  pool_.gone(uid, clock_.now());
  known_.erase(uid);
  trouble_reason_ = made.error().reason;
  trouble_ = made.error().message;
  log_error("a sandbox could not be started", {{"why", made.error().message}});
  failed_(made.error());
}

Task<> Sandboxes::end(std::string uid, std::string name, std::chrono::milliseconds grace) {
  // not_found: it has ended by itself meanwhile, and its event says so.
  std::ignore = co_await backend_.remove(std::move(name), std::move(uid), grace);
}

std::optional<SandboxAddress> Sandboxes::claim() {
  const auto uid = pool_.claim(clock_.now());
  if (!uid) return std::nullopt;
  const auto& known = known_.at(*uid);
  return SandboxAddress{known.address.empty() ? layout_.address_of(known.name) : known.address,
                        known.token, *uid};
}

std::string Sandboxes::name_of(const std::string& uid) const {
  const auto found = known_.find(uid);
  return found == known_.end() ? "" : found->second.name;
}

void Sandboxes::free(const std::string& uid) {
  if (!pool_.end(uid)) return;
  std::ignore = gate_.spawn("end " + known_.at(uid).name, end(uid, known_.at(uid).name, kGrace));
}

bool Sandboxes::observed(const PodEvent& event) {
  if (event.phase == PodPhase::pending) {
    trouble_reason_ = event.reason;
    trouble_ = event.detail;
  }
  if (event.phase == PodPhase::ready) {
    trouble_reason_.clear();
    trouble_.clear();
    leak_.clear();
    if (const auto found = known_.find(event.uid); found != known_.end())
      found->second.address = event.address;
    pool_.ready(event.uid, clock_.now());
  }
  if (event.phase != PodPhase::succeeded && event.phase != PodPhase::failed) return false;
  if (event.exit_code == kNotIsolated) leak_ = event.detail;
  const bool unasked = pool_.gone(event.uid, clock_.now());
  if (unasked)
    log_warning("a sandbox ended unasked", {{"sandbox", event.name}, {"how", event.detail}});
  known_.erase(event.uid);
  return unasked;
}

Task<> Sandboxes::end_all(std::chrono::milliseconds grace) {
  closing_ = true;
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [uid, known] : known_) all.emplace_back(uid, known.name);
  StopSource unused;
  Gate ending(co_await asio::this_coro::executor, unused);
  for (const auto& [uid, name] : all) {
    pool_.end(uid);
    std::ignore = ending.spawn("end " + name, end(uid, name, grace));
  }
  co_await ending.join();
}

}  // namespace swage::controller
