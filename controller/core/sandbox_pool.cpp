#include "controller/core/sandbox_pool.hpp"

#include <algorithm>
#include <cmath>

#include "common/base/check.hpp"

namespace swage::controller {
namespace {

constexpr auto kWindow = std::chrono::seconds(60);
constexpr auto kTrickle = std::chrono::seconds(10);
constexpr std::size_t kManyDeaths = 10;
constexpr std::size_t kReadyTimes = 100;
constexpr std::uint64_t kReadyToClose = 3;

void forget_old(std::deque<TimePoint>& times, TimePoint now) {
  while (!times.empty() && now - times.front() > kWindow) times.pop_front();
}

}  // namespace

SandboxPool::SandboxPool(SandboxSettings settings)
    : settings_(settings), tokens_(settings.create_burst) {}

std::uint64_t SandboxPool::warm_target(TimePoint now, std::uint64_t rollouts_left) const {
  const auto recent = std::count_if(claims_.begin(), claims_.end(),
                                    [&](const auto& at) { return now - at <= kWindow; });
  double p90 = 0;
  if (!ready_times_.empty()) {
    std::vector<Duration> sorted(ready_times_.begin(), ready_times_.end());
    std::sort(sorted.begin(), sorted.end());
    const auto at = (sorted.size() * 9) / 10;
    p90 = std::chrono::duration<double>(sorted[std::min(at, sorted.size() - 1)]).count();
  }
  const double extra = std::ceil(static_cast<double>(recent) / 60.0 * p90 * 1.5);
  const auto want = static_cast<std::uint64_t>(extra) + settings_.warm_min;
  const auto most = std::min(settings_.warm_max, rollouts_left);
  return std::min(std::max(want, settings_.warm_min), most);
}

SandboxPool::Wanted SandboxPool::tick(TimePoint now, std::uint64_t rollouts_left,
                                      const std::set<std::string>& live) {
  forget_old(claims_, now);
  forget_old(creations_, now);
  forget_old(deaths_, now);
  watch_circuit(now);

  Wanted out;
  std::uint64_t fresh = 0;
  for (auto& [uid, entry] : sandboxes_) {
    const auto age = now - entry.since;
    const bool late =
        (entry.state == SandboxState::starting && age > settings_.ready_within) ||
        (entry.state == SandboxState::warm && now - entry.created > settings_.renew_after) ||
        (entry.state == SandboxState::claimed && !live.contains(uid) && age > settings_.unreported);
    if (late) {
      entry.state = SandboxState::ending;
      entry.since = now;
      out.remove.push_back(uid);
    }
    if (entry.state == SandboxState::starting || entry.state == SandboxState::warm) ++fresh;
  }
  const auto target = warm_target(now, rollouts_left);
  if (fresh < target) out.create = allowed_now(now, target - fresh);
  return out;
}

std::uint64_t SandboxPool::allowed_now(TimePoint now, std::uint64_t wanted) {
  if (circuit_open_) {
    if (now - trickled_ < kTrickle) return 0;
    trickled_ = now;
    return 1;
  }
  if (refilled_) {
    const double passed = std::chrono::duration<double>(now - *refilled_).count();
    tokens_ = std::min(settings_.create_burst, tokens_ + passed * settings_.create_rate);
  }
  refilled_ = now;
  const auto starting = counts().starting;
  const auto room = settings_.max_starting > starting ? settings_.max_starting - starting : 0;
  const auto allowed = std::min({wanted, room, static_cast<std::uint64_t>(tokens_)});
  tokens_ -= static_cast<double>(allowed);
  return allowed;
}

void SandboxPool::watch_circuit(TimePoint now) {
  if (!circuit_open_ && deaths_.size() >= kManyDeaths && deaths_.size() * 2 > creations_.size()) {
    circuit_open_ = true;
    ready_since_open_ = 0;
    trickled_ = now;
  } else if (circuit_open_ && ready_since_open_ >= kReadyToClose) {
    circuit_open_ = false;
    deaths_.clear();
  }
}

void SandboxPool::created(const std::string& uid, TimePoint now) {
  check(!sandboxes_.contains(uid), "a sandbox uid is used once");
  sandboxes_[uid] = {SandboxState::starting, now, now};
  creations_.push_back(now);
}

void SandboxPool::adopted(const std::string& uid, bool claimed, TimePoint now) {
  check(!sandboxes_.contains(uid), "a sandbox uid is used once");
  sandboxes_[uid] = {claimed ? SandboxState::claimed : SandboxState::starting, now, now};
}

void SandboxPool::ready(const std::string& uid, TimePoint now) {
  const auto found = sandboxes_.find(uid);
  if (found == sandboxes_.end() || found->second.state != SandboxState::starting) return;
  found->second.state = SandboxState::warm;
  found->second.since = now;
  ready_times_.push_back(now - found->second.created);
  if (ready_times_.size() > kReadyTimes) ready_times_.pop_front();
  if (circuit_open_) ++ready_since_open_;
}

std::optional<std::string> SandboxPool::claim(TimePoint now) {
  auto oldest = sandboxes_.end();
  for (auto at = sandboxes_.begin(); at != sandboxes_.end(); ++at) {
    if (at->second.state != SandboxState::warm) continue;
    if (oldest == sandboxes_.end() || at->second.since < oldest->second.since) oldest = at;
  }
  if (oldest == sandboxes_.end()) return std::nullopt;
  oldest->second.state = SandboxState::claimed;
  oldest->second.since = now;
  claims_.push_back(now);
  return oldest->first;
}

bool SandboxPool::end(const std::string& uid) {
  const auto found = sandboxes_.find(uid);
  if (found == sandboxes_.end() || found->second.state == SandboxState::ending) return false;
  found->second.state = SandboxState::ending;
  return true;
}

bool SandboxPool::gone(const std::string& uid, TimePoint now) {
  const auto found = sandboxes_.find(uid);
  if (found == sandboxes_.end()) return false;
  const bool unexpected = found->second.state != SandboxState::ending;
  if (unexpected) deaths_.push_back(now);
  sandboxes_.erase(found);
  return unexpected;
}

SandboxCounts SandboxPool::counts() const {
  SandboxCounts out;
  for (const auto& [uid, entry] : sandboxes_) {
    switch (entry.state) {
      case SandboxState::starting:
        ++out.starting;
        break;
      case SandboxState::warm:
        ++out.warm;
        break;
      case SandboxState::claimed:
        ++out.claimed;
        break;
      case SandboxState::ending:
        ++out.ending;
        break;
    }
  }
  return out;
}

}  // namespace swage::controller
