#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "common/asio/asio.hpp"
#include "common/asio/stop_source.hpp"
#include "common/base/time.hpp"

namespace swage {

/// Wakes every waiter on one strand. A notification without a waiter is lost: test the condition,
/// then wait, in a loop.
class Event {
 public:
  explicit Event(asio::any_io_executor strand) : timer_(std::move(strand)) {
    timer_.expires_at(TimePoint::max());
  }
  void notify() { timer_.cancel(); }

  /// Returns when notified or when `stop` is requested.
  Task<> wait(StopSource& stop) {
    if (stop.stopping()) co_return;
    const auto hook = stop.on_stop([this] { timer_.cancel(); });
    boost::system::error_code woken;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }

 private:
  asio::steady_timer timer_;
};

/// An unbounded first-in-first-out queue between tasks of one strand.
template <class T>
class Mailbox {
 public:
  explicit Mailbox(asio::any_io_executor strand) : arrived_(std::move(strand)) {}
  void push(T value) {
    if (closed_) return;
    values_.push_back(std::move(value));
    arrived_.notify();
  }
  /// No more values: pop() returns what is left, then nothing.
  void close() {
    closed_ = true;
    arrived_.notify();
  }
  std::size_t size() const { return values_.size(); }

  /// The next value; nothing when closed and empty, or when `stop` is requested.
  Task<std::optional<T>> pop(StopSource& stop) {
    while (values_.empty() && !closed_ && !stop.stopping()) co_await arrived_.wait(stop);
    if (values_.empty() || stop.stopping()) co_return std::nullopt;
    std::optional<T> value(std::move(values_.front()));
    values_.pop_front();
    co_return value;
  }

 private:
  Event arrived_;
  std::deque<T> values_;
  bool closed_ = false;
};

}  // namespace swage
