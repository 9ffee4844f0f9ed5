#pragma once

#include <chrono>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/asio/clock.hpp"
#include "common/asio/event.hpp"
#include "common/k8s/token_bucket.hpp"

namespace swage::k8s {

/// Keys that wait to be reconciled. Pure. A key is in the queue once however often it is added; one
/// that is added while it is worked on comes again after done(). A key that fails comes again after
/// 5 ms, doubling to 1,000 s, and all failures together not faster than 10/s (burst 100).
class WorkQueueCore {
 public:
  static constexpr Duration kFirst = std::chrono::milliseconds(5);
  static constexpr Duration kLongest = std::chrono::seconds(1000);

  void add(const std::string& key);
  void add_at(const std::string& key, TimePoint when);  ///< the earliest time given stands
  /// The next key that is due; it is worked on until done() or failed().
  std::optional<std::string> take(TimePoint now);
  void done(const std::string& key);  ///< and forgets its failures
  void failed(const std::string& key, TimePoint now);
  /// When something becomes due that waits for its time.
  std::optional<TimePoint> next_due() const;
  std::size_t size() const { return ready_.size() + later_.size(); }

 private:
  void finish(const std::string& key);

  std::deque<std::string> ready_;
  std::set<std::string> queued_;  // what ready_ holds
  std::set<std::string> working_;
  std::set<std::string> again_;  // added while worked on
  std::map<std::string, TimePoint> later_;
  std::map<std::string, int> failures_;
  TokenBucket bucket_{10, 100};
};

/// The queue as tasks use it. Thread: one strand.
class WorkQueue {
 public:
  WorkQueue(const asio::any_io_executor& strand, Clock& clock) : clock_(clock), changed_(strand) {}

  void add(const std::string& key);
  void add_after(const std::string& key, Duration delay);
  /// Waits for a key; nothing when `stop` is requested.
  Task<std::optional<std::string>> pop(StopSource& stop);
  void done(const std::string& key);
  void failed(const std::string& key);
  std::size_t size() const { return core_.size(); }

 private:
  void wake();

  Clock& clock_;
  Event changed_;
  std::list<StopSource*> sleepers_;  // pops that wait for a time
  WorkQueueCore core_;
};

}  // namespace swage::k8s
