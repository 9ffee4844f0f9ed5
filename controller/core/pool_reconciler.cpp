#include "controller/core/pool_reconciler.hpp"

#include <algorithm>

namespace swage::controller {
namespace {

using namespace std::chrono_literals;

constexpr auto kWindow = 300s;
constexpr auto kAboveFor = 10s;
constexpr auto kUpPeriod = 30s;
constexpr auto kDownPeriod = 60s;

/// Who leaves first has the lowest rank.
int rank_of(const GpuView& gpu) {
  if (gpu.lease_state == "quarantined") return 0;
  if (gpu.phase != PodPhase::ready) return 1;
  return gpu.lease_state == "leased" ? 3 : 2;
}

}  // namespace

int PoolScaler::wanted(const ProfilingPool& pool, int size, std::uint64_t demand, TimePoint now) {
  const auto& scaling = pool.scaling;
  if (scaling.mode == ScalingMode::fixed) return pool.replicas.value_or(scaling.max_replicas);
  if (scaling.mode == ScalingMode::external) return pool.replicas.value_or(scaling.min_replicas);
  const auto per_gpu = static_cast<std::uint64_t>(scaling.outstanding_per_gpu);
  const auto needed = static_cast<int>(std::min<std::uint64_t>(
      (demand + per_gpu - 1) / per_gpu, static_cast<std::uint64_t>(1) << 20));
  const int want = std::clamp(needed, scaling.min_replicas, scaling.max_replicas);
  wants_.emplace_back(now, want);
  while (now - wants_.front().first >= kWindow) wants_.pop_front();
  if (want <= size) above_since_.reset();
  if (want > size && !above_since_) above_since_ = now;

  if (std::max(want - size, size - want) * 10 <= size) return size;
  if (want > size) {
    const bool long_enough = size == 0 || now - *above_since_ >= kAboveFor;
    const bool may = !last_up_ || now - *last_up_ >= kUpPeriod;
    if (!long_enough || !may) return size;
    last_up_ = now;
    above_since_.reset();  // the next step wants its own ten seconds
    return std::min(want, size + std::max(4, size));
  }
  const int largest = std::max_element(wants_.begin(), wants_.end(), [](auto& a, auto& b) {
                        return a.second < b.second;
                      })->second;
  const bool calm = !last_up_ || now - *last_up_ >= kWindow;
  const bool may = !last_down_ || now - *last_down_ >= kDownPeriod;
  const bool seen_enough = now - wants_.front().first >= kWindow - 10s;
  if (largest >= size || !calm || !may || !seen_enough) return size;
  last_down_ = now;
  return std::max(largest, size - std::max(1, size / 4));
}

PoolReconciler::Actions PoolReconciler::tick(const ProfilingPool& pool,
                                             const std::map<std::string, GpuView>& gpus,
                                             std::uint64_t demand, TimePoint now) {
  Actions out;
  std::erase_if(leaving_, [&](const auto& one) { return !gpus.contains(one.first); });
  const auto size = static_cast<int>(gpus.size() - leaving_.size());
  const int wanted = scaler_.wanted(pool, size, demand, now);
  if (wanted > size) {
    out.create = wanted - size;
  } else if (wanted < size) {
    std::vector<std::pair<int, std::string>> order;
    for (const auto& [name, gpu] : gpus)
      if (!leaving_.contains(name)) order.emplace_back(rank_of(gpu), name);
    std::sort(order.begin(), order.end());
    for (int i = 0; i < size - wanted; ++i)
      leaving_[order[static_cast<std::size_t>(i)].second] = now;
  }
  for (const auto& [name, since] : leaving_) {
    const bool leased = gpus.at(name).lease_state == "leased";
    if (!leased || now - since >= std::chrono::seconds(pool.drain_seconds))
      out.remove.push_back(name);
  }
  return out;
}

}  // namespace swage::controller
