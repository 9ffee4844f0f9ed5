#include "common/k8s/event_recorder.hpp"

#include <cstdio>

namespace swage::k8s {
namespace {

const ResourceType kEvents{"events.k8s.io", "v1", "events", "Event"};
constexpr auto kDeadline = std::chrono::seconds(10);

/// `<object>.<16 hex digits>`: unique, and sorted with its object.
std::string event_name(const std::string& object, double random) {
  char digits[20];
  std::snprintf(digits, sizeof digits, ".%016llx",
                static_cast<unsigned long long>(random * 18446744073709549568.0));
  constexpr std::size_t kLongestObject = 200;
  return object.substr(0, kLongestObject) + digits;
}

}  // namespace

void EventRecorder::note(EventNote note) {
  auto name = event_name(note.subject.name, client_.random());
  auto write = series_.add(std::move(note), std::move(name), client_.clock().now());
  if (write) {
    waiting_.push_back(std::move(*write));
    if (waiting_.size() > kMostWaiting) {
      waiting_.pop_front();
      ++dropped_;
    }
  }
  changed_.notify();
  if (sleeper_ != nullptr) sleeper_->request(StopReason::requested);
}

Task<> EventRecorder::run(StopSource& stop) {
  while (!stop.stopping()) {
    if (auto late = series_.due(client_.clock().now())) waiting_.push_back(std::move(*late));
    if (waiting_.empty()) {
      co_await wait(stop);
      continue;
    }
    auto next = std::move(waiting_.front());
    waiting_.pop_front();
    co_await write(std::move(next), stop);
  }
}

Task<> EventRecorder::wait(StopSource& stop) {
  const auto due = series_.next_due();
  if (!due) {
    co_await changed_.wait(stop);
    co_return;
  }
  StopSource over;
  const auto hook = stop.on_stop([&over] { over.request(StopReason::requested); });
  sleeper_ = &over;
  co_await client_.clock().sleep_until(*due, over);
  sleeper_ = nullptr;
}

Task<> EventRecorder::write(EventSeries::Write write, StopSource& stop) {
  const Target target{kEvents, write.note.subject.name_space, write.name};
  const auto deadline = client_.clock().now() + kDeadline;
  const auto answer =
      write.create
          ? co_await client_.create(target, event_object(write, controller_, instance_, now_text()),
                                    deadline, stop)
          : co_await client_.merge_patch(target, "", event_patch(write, now_text()), deadline,
                                         stop);
  answer ? ++written_ : ++dropped_;
}

}  // namespace swage::k8s
