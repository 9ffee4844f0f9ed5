#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "common/base/time.hpp"
#include "common/k8s/object.hpp"

namespace swage::k8s {

/// What an Event is about.
struct EventSubject {
  std::string api_version, kind, name_space, name, uid;
};

struct EventNote {
  EventSubject subject;
  std::string reason;   ///< CamelCase, from a fixed set
  std::string message;  ///< for people
  bool warning = false;
};

/// Aggregates Events by (object, reason): the first is written, repetitions raise its count,
/// written at most once in 10 s for each. Pure.
class EventSeries {
 public:
  static constexpr Duration kPeriod = std::chrono::seconds(10);
  static constexpr Duration kForgotten = std::chrono::minutes(6);
  static constexpr std::size_t kMost = 4096;  ///< series kept; the oldest goes

  struct Write {
    std::string name;  ///< of the Event object
    bool create;       ///< else: its count changes
    int count;
    EventNote note;
  };

  /// name: of the Event object should this be the first of its series.
  std::optional<Write> add(EventNote note, std::string name, TimePoint now);
  /// Counts that waited for their time.
  std::optional<Write> due(TimePoint now);
  std::optional<TimePoint> next_due() const;

 private:
  struct Series {
    std::string name;
    int count = 1;
    int written = 1;
    TimePoint last_write, last_seen;
    EventNote note;
  };
  std::map<std::pair<std::string, std::string>, Series> series_;
};

/// The events.k8s.io/v1 object of a new series, and the patch of a repeated one.
Json event_object(const EventSeries::Write& write, const std::string& controller,
                  const std::string& instance, const std::string& now_text);
Json event_patch(const EventSeries::Write& write, const std::string& now_text);

}  // namespace swage::k8s
