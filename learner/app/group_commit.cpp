#include "learner/app/group_commit.hpp"

#include <stdexcept>
#include <utility>

#include "common/asio/blocking.hpp"

namespace swage::learner {
namespace {

constexpr std::size_t kGroupBytes = 8U << 20U;
constexpr std::chrono::milliseconds kGroupTime{20};

}  // namespace

GroupCommit::GroupCommit(asio::any_io_executor strand, SegmentedLog& log,
                         asio::thread_pool& file_thread, Clock& clock)
    : strand_(std::move(strand)),
      log_(log),
      file_thread_(file_thread),
      clock_(clock),
      arrived_(strand_) {}

Task<Result<std::uint64_t, LogError>> GroupCommit::append(LogRecord record) {
  if (closed_) co_return tl::unexpected(LogError{LogErrc::io, "the learner is shutting down"});
  const auto waiter = std::make_shared<Waiter>(strand_);
  bytes_ += record.payload.size();
  records_.push_back(std::move(record));
  waiters_.push_back(waiter);
  arrived_.notify();
  if (bytes_ >= kGroupBytes && round_) round_->request(StopReason::requested);
  while (!waiter->result) co_await waiter->done.wait(never_);
  co_return std::move(*waiter->result);
}

Task<> GroupCommit::run(StopSource& stop) {
  while (!stop.stopping() && !lost_sync_) {
    while (records_.empty() && !stop.stopping()) co_await arrived_.wait(stop);
    if (!stop.stopping() && bytes_ < kGroupBytes) {
      round_ = std::make_unique<StopSource>();
      const auto hook = stop.on_stop([this] { round_->request(StopReason::requested); });
      co_await clock_.sleep_for(kGroupTime, *round_);
    }
    co_await flush();
  }
  closed_ = true;
  while (!records_.empty()) co_await flush();
  if (lost_sync_) throw std::runtime_error(*lost_sync_);
}

Task<> GroupCommit::flush() {
  if (records_.empty()) co_return;
  const auto records = std::exchange(records_, {});
  const auto waiters = std::exchange(waiters_, {});
  bytes_ = 0;
  const auto result =
      co_await run_blocking(file_thread_, [this, &records] { return log_.append(records); });
  if (!result && result.error().code == LogErrc::lost_sync) lost_sync_ = result.error().message;
  for (std::size_t i = 0; i < waiters.size(); ++i) {
    if (result) {
      waiters[i]->result.emplace(*result + i);
    } else {
      waiters[i]->result.emplace(tl::unexpected(result.error()));
    }
    waiters[i]->done.notify();
  }
}

}  // namespace swage::learner
