#pragma once

#include <deque>
#include <string>

#include "common/asio/event.hpp"
#include "common/k8s/client.hpp"
#include "common/k8s/event_series.hpp"

namespace swage::k8s {

/// Writes Events, aggregated, beside the work that they tell of: an Event that cannot be written is
/// counted and dropped. Thread: the client's strand. Life: run() has ended before it goes.
class EventRecorder {
 public:
  /// controller: e.g. `swage.dev/controller`; instance: the pod's name.
  EventRecorder(const asio::any_io_executor& strand, Client& client, std::string controller,
                std::string instance)
      : client_(client),
        controller_(std::move(controller)),
        instance_(std::move(instance)),
        changed_(strand) {}

  void note(EventNote note);
  /// Until `stop` is requested.
  Task<> run(StopSource& stop);

  int written() const { return written_; }
  int dropped() const { return dropped_; }

 private:
  Task<> write(EventSeries::Write write, StopSource& stop);
  Task<> wait(StopSource& stop);

  static constexpr std::size_t kMostWaiting = 1000;

  Client& client_;
  std::string controller_, instance_;
  Event changed_;
  EventSeries series_;
  std::deque<EventSeries::Write> waiting_;
  StopSource* sleeper_ = nullptr;
  int written_ = 0, dropped_ = 0;
};

}  // namespace swage::k8s
