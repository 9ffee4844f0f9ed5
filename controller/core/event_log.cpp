#include "controller/core/event_log.hpp"

#include <utility>

namespace swage::controller {

std::uint64_t EventLog::add(std::string type, std::int64_t unix_ms, std::string data) {
  events_.push_back({next_, std::move(type), unix_ms, std::move(data)});
  if (events_.size() > keep_) events_.pop_front();
  return next_++;
}

std::vector<RunEvent> EventLog::after(std::uint64_t cursor, std::size_t limit) const {
  std::vector<RunEvent> out;
  for (const auto& event : events_) {
    if (event.id <= cursor) continue;
    if (out.size() == limit) break;
    out.push_back(event);
  }
  return out;
}

}  // namespace swage::controller
