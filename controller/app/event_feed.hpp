#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/asio/event.hpp"
#include "common/base/json_text.hpp"
#include "common/base/time.hpp"
#include "controller/core/event_log.hpp"

namespace swage::controller {

/// The newest events of this process, and whoever waits for more. Thread: one strand.
class EventFeed {
 public:
  /// first: id of the first event, above all ids of an earlier life.
  EventFeed(asio::any_io_executor strand, std::uint64_t first)
      : log_(first, kKept), added_(std::move(strand)) {}

  /// data: an object. Text that is no UTF-8 is repaired.
  void say(const std::string& type, const nlohmann::json& data) {
    log_.add(type, unix_ms(), json_text(data));
    added_.notify();
  }
  /// Events after `cursor`, oldest first, `limit` at most.
  std::vector<RunEvent> after(std::uint64_t cursor, std::size_t limit) const {
    return log_.after(cursor, limit);
  }
  /// Returns when there is another event, or at `stop`.
  Task<> wait(StopSource& stop) { return added_.wait(stop); }

 private:
  static constexpr std::size_t kKept = 10000;
  EventLog log_;
  Event added_;
};

}  // namespace swage::controller
