#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "common/asio/asio.hpp"
#include "common/base/time.hpp"

namespace swage::test {

/// Runs coroutines on an io_context that the test turns by hand. One thread, so that its executor
/// is a strand. `run(task)` turns it until the task has ended; `start(task)` and poll() go step by
/// step.
class TaskRunner {
 public:
  /// A task under way. `*outcome`: it has ended well; `value()` is what it returned.
  template <class T>
  struct Outcome {
    bool ended = false;
    std::exception_ptr failure;
    std::optional<T> result;
    T& value() { return *result; }
    const std::exception_ptr& thrown() const { return failure; }
  };
  template <class T>
  using Handle = std::shared_ptr<Outcome<T>>;

  ~TaskRunner() { poll(); }

  asio::any_io_executor executor() { return context_.get_executor(); }

  /// Starts the task and runs what is ready.
  template <class T>
  Handle<T> start(Task<T> task) {
    auto outcome = std::make_shared<Outcome<T>>();
    asio::co_spawn(context_, std::move(task), [outcome](std::exception_ptr failure, T value) {
      outcome->failure = std::move(failure);
      outcome->result = std::move(value);
      outcome->ended = true;
    });
    poll();
    return outcome;
  }
  Handle<char> start(Task<void> task) {
    auto outcome = std::make_shared<Outcome<char>>();
    asio::co_spawn(context_, std::move(task), [outcome](std::exception_ptr failure) {
      outcome->failure = std::move(failure);
      outcome->result = 'x';
      outcome->ended = true;
    });
    poll();
    return outcome;
  }

  /// Runs the task to its end and returns its value; rethrows what it throws. A task that has not
  /// ended after `limit` throws.
  template <class T>
  T operator()(Task<T> task, Duration limit = std::chrono::seconds(20)) {
    auto outcome = start(std::move(task));
    if (!wait_until([&] { return outcome->ended; }, limit))
      throw std::runtime_error("the task has not ended in time");
    if (outcome->failure) std::rethrow_exception(outcome->failure);
    if constexpr (!std::is_void_v<T>) return std::move(*outcome->result);
  }

  /// Runs what is ready now.
  void poll() {
    context_.restart();
    context_.poll();
  }
  /// Turns real time and I/O until `condition` holds. False: `limit` has passed.
  template <class Condition>
  bool wait_until(Condition condition, Duration limit = std::chrono::seconds(20)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    poll();
    while (!condition()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      context_.restart();
      context_.run_one_for(std::chrono::milliseconds(20));
    }
    return true;
  }

 private:
  asio::io_context context_{1};
};

}  // namespace swage::test
