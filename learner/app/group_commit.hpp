#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/asio/asio.hpp"
#include "common/asio/clock.hpp"
#include "common/asio/event.hpp"
#include "learner/adapters/segmented_log.hpp"

namespace swage::learner {

/// Group commit in front of the log: records that arrive within 20 ms, or 8 MiB of them, share one
/// write and one sync. Invariant: a record is answered after the sync that covers it, in the order
/// of the appends. Thread: one strand; the log is touched on `file_thread` only, by jobs posted
/// here and by others that use the same thread. Life: run() must have returned before it goes.
class GroupCommit {
 public:
  GroupCommit(asio::any_io_executor strand, SegmentedLog& log, asio::thread_pool& file_thread,
              Clock& clock);

  /// Appends one record; returns its number once it is synced. Errors: as SegmentedLog::append; io
  /// once run() is ending.
  Task<Result<std::uint64_t, LogError>> append(LogRecord record);

  /// Writes until `stop`, then what is still queued. Throws when a sync failed: nobody knows what
  /// is on disk then, and the process must end; the next start finds out.
  Task<> run(StopSource& stop);

 private:
  struct Waiter {
    explicit Waiter(asio::any_io_executor strand) : done(std::move(strand)) {}
    Event done;
    std::optional<Result<std::uint64_t, LogError>> result;
  };
  Task<> flush();

  asio::any_io_executor strand_;
  SegmentedLog& log_;
  asio::thread_pool& file_thread_;
  Clock& clock_;
  Event arrived_;
  StopSource never_;                   // answers come, whatever stops
  std::unique_ptr<StopSource> round_;  // ends the 20 ms when 8 MiB are there
  std::vector<LogRecord> records_;
  std::vector<std::shared_ptr<Waiter>> waiters_;
  std::size_t bytes_ = 0;
  bool closed_ = false;
  std::optional<std::string> lost_sync_;
};

}  // namespace swage::learner
