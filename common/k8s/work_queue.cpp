#include "common/k8s/work_queue.hpp"

#include <algorithm>
#include <vector>

namespace swage::k8s {

void WorkQueueCore::add(const std::string& key) {
  later_.erase(key);
  if (working_.contains(key)) {
    again_.insert(key);
    return;
  }
  if (queued_.insert(key).second) ready_.push_back(key);
}

void WorkQueueCore::add_at(const std::string& key, TimePoint when) {
  if (queued_.contains(key) || again_.contains(key)) return;
  const auto [at, fresh] = later_.emplace(key, when);
  if (!fresh) at->second = std::min(at->second, when);
}

std::optional<std::string> WorkQueueCore::take(TimePoint now) {
  std::vector<std::pair<TimePoint, std::string>> due;
  for (const auto& [key, when] : later_)
    if (when <= now) due.emplace_back(when, key);
  std::ranges::sort(due);
  for (const auto& [when, key] : due) add(key);
  if (ready_.empty()) return std::nullopt;
  auto key = std::move(ready_.front());
  ready_.pop_front();
  queued_.erase(key);
  working_.insert(key);
  return key;
}

void WorkQueueCore::finish(const std::string& key) {
  working_.erase(key);
  if (again_.erase(key) != 0) add(key);
}

void WorkQueueCore::done(const std::string& key) {
  failures_.erase(key);
  finish(key);
}

void WorkQueueCore::failed(const std::string& key, TimePoint now) {
  constexpr int kMostDoublings = 18;  // 5 ms · 2^18 is above the longest wait
  const int doublings = std::min(failures_[key]++, kMostDoublings);
  const auto own = now + std::min(kFirst * (1 << doublings), kLongest);
  finish(key);
  add_at(key, std::max(own, bucket_.take(now)));
}

std::optional<TimePoint> WorkQueueCore::next_due() const {
  std::optional<TimePoint> first;
  for (const auto& [key, when] : later_)
    if (!first || when < *first) first = when;
  return first;
}

void WorkQueue::wake() {
  changed_.notify();
  for (auto* sleeper : sleepers_) sleeper->request(StopReason::requested);
}

void WorkQueue::add(const std::string& key) {
  core_.add(key);
  wake();
}

void WorkQueue::add_after(const std::string& key, Duration delay) {
  core_.add_at(key, clock_.now() + delay);
  wake();
}

Task<std::optional<std::string>> WorkQueue::pop(StopSource& stop) {
  while (!stop.stopping()) {
    if (auto key = core_.take(clock_.now())) co_return key;
    const auto due = core_.next_due();
    if (!due) {
      co_await changed_.wait(stop);
      continue;
    }
    // Whatever comes first: the time, a change, or the end.
    StopSource over;
    const auto hook = stop.on_stop([&over] { over.request(StopReason::requested); });
    const auto place = sleepers_.insert(sleepers_.end(), &over);
    co_await clock_.sleep_until(*due, over);
    sleepers_.erase(place);
  }
  co_return std::nullopt;
}

void WorkQueue::done(const std::string& key) {
  core_.done(key);
  wake();
}

void WorkQueue::failed(const std::string& key) {
  core_.failed(key, clock_.now());
  wake();
}

}  // namespace swage::k8s
