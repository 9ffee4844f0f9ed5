#include "gpu_pool/lease/app/pool_leader.hpp"

#include <algorithm>
#include <utility>

#include "common/log/log.hpp"

namespace swage::lease {
namespace {

using namespace std::chrono_literals;

constexpr auto kCall = 1s;
constexpr auto kSweep = 1s;
constexpr auto kRetry = 300ms;
constexpr std::uint32_t kSweepLimit = 256;

}  // namespace

LeaderLoop::LeaderLoop(const asio::any_io_executor& strand, LeaderQueue& queue, Clock& clock,
                       PoolSettings settings, RaiseEpoch raise)
    : queue_(queue),
      clock_(clock),
      settings_(settings),
      raise_(std::move(raise)),
      gate_(strand, stop_) {
  std::ignore = gate_.spawn("pool leader", run());
}

Task<> LeaderLoop::shut_down() {
  stop_.request(StopReason::requested);
  co_await gate_.join();
}

Task<> LeaderLoop::run() {
  while (!stop_.stopping() && !deposed_) {
    const bool ok = epoch_ == 0 ? co_await install() : co_await sweep();
    if (epoch_ == 0 && ok) continue;  // the server changed: install at once
    co_await clock_.sleep_for(ok ? Duration(kSweep) : Duration(kRetry), stop_);
  }
}

/// False: not now.
Task<bool> LeaderLoop::install() {
  const auto seen = co_await queue_.inspect(clock_.now() + kCall);
  if (!seen) co_return false;
  const auto raised = co_await raise_(std::max(seen->epoch, seen->floor_epoch));
  if (!raised) co_return false;
  const auto answer =
      co_await queue_.install(*raised, seen->server, settings_, clock_.now() + kCall);
  if (!answer || *answer != InstallAnswer::ok) co_return false;
  epoch_ = *raised;
  log_info("lease queue installed", {{"epoch", epoch_}, {"server", seen->server}});
  co_return true;
}

/// True with epoch() = 0: install again at once. False: no answer.
Task<bool> LeaderLoop::sweep() {
  const auto counts = co_await queue_.sweep(epoch_, kSweepLimit, clock_.now() + kCall);
  if (!counts) {
    if (counts.error() == LeaseErrc::no_epoch) epoch_ = 0;
    if (counts.error() == LeaseErrc::stale_epoch) {
      log_warning("another leader has installed a higher epoch", {{"epoch", epoch_}});
      deposed_ = true;
    }
    co_return counts.error() == LeaseErrc::no_epoch;
  }
  if (counts->floor_epoch >= epoch_) epoch_ = 0;
  if (counts->suspect + counts->absent + counts->quarantined > 0)
    log_warning("leases taken back", {{"suspect", counts->suspect},
                                      {"absent", counts->absent},
                                      {"quarantined", counts->quarantined}});
  co_return true;
}

}  // namespace swage::lease
