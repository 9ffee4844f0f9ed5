#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace swage::controller {

/// One thing that happened in a run, for people and programs that watch it.
struct RunEvent {
  std::uint64_t id = 0;  ///< rises by one
  std::string type;      ///< `stage`, `step`, `rollout`, `pod`, …
  std::int64_t unix_ms = 0;
  std::string data;  ///< a JSON object
};

/// The newest events of this controller's life, for readers with a cursor. Pure.
class EventLog {
 public:
  /// first: id of the first event; keep: how many stay.
  EventLog(std::uint64_t first, std::size_t keep) : next_(first), keep_(keep) {}

  std::uint64_t add(std::string type, std::int64_t unix_ms, std::string data);
  /// Events after `cursor`, oldest first, `limit` at most. Those that are gone are skipped.
  std::vector<RunEvent> after(std::uint64_t cursor, std::size_t limit) const;
  std::uint64_t newest() const { return next_ - 1; }

 private:
  std::uint64_t next_;
  std::size_t keep_;
  std::deque<RunEvent> events_;
};

}  // namespace swage::controller
