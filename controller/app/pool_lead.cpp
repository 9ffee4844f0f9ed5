#include "controller/app/pool_lead.hpp"

#include <utility>

namespace swage::controller {
namespace {

using namespace std::chrono_literals;

lease::PoolSettings settings_of(const ProfilingPool& pool) {
  lease::PoolSettings out;
  out.ttl = std::chrono::seconds(pool.lease.ttl_seconds);
  out.margin = std::chrono::seconds(pool.lease.margin_seconds);
  out.hold = std::chrono::seconds(pool.lease.max_hold_seconds);
  out.wait = std::chrono::seconds(pool.queue.max_wait_seconds);
  out.waiting = static_cast<std::uint32_t>(pool.queue.max_waiting);
  return out;
}

}  // namespace

PoolLead::PoolLead(lease::QueueConfig queue, const ProfilingPool& pool, lease::RaiseEpoch raise,
                   Clock& clock)
    : queue_(std::move(queue)),
      settings_(settings_of(pool)),
      raise_(std::move(raise)),
      clock_(clock) {}

Task<> PoolLead::run(std::function<void()> changed, StopSource& stop) {
  leader_ = co_await lease::open_pool_leader(queue_, settings_, raise_);
  while (!stop.stopping()) {
    auto snapshot = co_await leader_->queue().snapshot(clock_.now() + 1s);
    reachable_ = snapshot.has_value();
    if (snapshot) snapshot_ = std::move(*snapshot);
    changed();
    co_await clock_.sleep_for(1s, stop);
  }
  co_await leader_->shut_down();
  leader_.reset();
}

Task<bool> PoolLead::forget_gpu(std::string gpu) {
  if (!leader_ || leader_->epoch() == 0) co_return false;
  const auto done = co_await leader_->queue().forget_gpu(
      leader_->epoch(), lease::GpuId(std::move(gpu)), clock_.now() + 1s);
  co_return done.has_value();
}

Task<bool> PoolLead::forget_run(std::string run_uid) {
  if (!leader_ || leader_->epoch() == 0) co_return false;
  const auto done = co_await leader_->queue().forget_run(
      leader_->epoch(), lease::RunUid(std::move(run_uid)), clock_.now() + 1s);
  co_return done.has_value();
}

}  // namespace swage::controller
