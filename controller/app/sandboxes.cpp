#include "controller/app/sandboxes.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/digest.hpp"
#include "common/log/log.hpp"

namespace swage::controller {
namespace {

constexpr std::chrono::milliseconds kGrace{2000};
constexpr unsigned kFirstUid = 20000;
constexpr unsigned kUids = 40000;

SandboxSettings settings_of(const TrainingRun& run) {
  SandboxSettings out;
  out.warm_min = static_cast<std::uint64_t>(run.sandbox.warm_min);
  out.warm_max = static_cast<std::uint64_t>(run.sandbox.warm_max);
  return out;
}

}  // namespace

Sandboxes::Sandboxes(PodBackend& backend, const LocalLayout& layout, const TrainingRun& run,
                     Clock& clock, Gate& gate, std::string key,
                     std::function<void(PodError)> failed)
    : backend_(backend),
      layout_(layout),
      run_(run.name),
      space_(run.space),
      clock_(clock),
      gate_(gate),
      key_(std::move(key)),
      failed_(std::move(failed)),
      pool_(settings_of(run)) {}

void Sandboxes::pump(std::uint64_t rollouts_left, const std::set<std::string>& live) {
  if (closing_) return;
  auto wanted = pool_.tick(clock_.now(), rollouts_left, live);
  for (std::uint64_t i = 0; i < wanted.create; ++i) create();
  for (const auto& uid : wanted.remove)
    if (known_.contains(uid))
      std::ignore =
          gate_.spawn("end " + known_.at(uid).name, end(uid, known_.at(uid).name, kGrace));
}

void Sandboxes::create() {
  const auto uid = to_hex(random_bytes(16));
  Known known;
  known.name = "sbx-" + run_ + "-" + to_hex(random_bytes(8));
  known.token = to_hex(hmac_sha256(key_, "sandbox" + space_ + known.name));
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
  return SandboxAddress{layout_.address_of(known.name), known.token, *uid};
}

void Sandboxes::free(const std::string& uid) {
  if (!pool_.end(uid)) return;
  std::ignore = gate_.spawn("end " + known_.at(uid).name, end(uid, known_.at(uid).name, kGrace));
}

void Sandboxes::observed(const PodEvent& event) {
  if (event.phase == PodPhase::ready) pool_.ready(event.uid, clock_.now());
  if (event.phase != PodPhase::succeeded && event.phase != PodPhase::failed) return;
  if (pool_.gone(event.uid, clock_.now()))
    log_warning("a sandbox ended unasked", {{"sandbox", event.name}, {"how", event.detail}});
  known_.erase(event.uid);
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
