#pragma once

#include <list>

#include "common/asio/asio.hpp"
#include "common/asio/clock.hpp"

namespace swage::test {

/// A clock that stands until advance() moves it. Thread: one strand.
class FakeClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }

  Task<> sleep_until(TimePoint when, StopSource& stop) override {
    if (stop.stopping() || when <= now_) co_return;
    asio::steady_timer timer(co_await asio::this_coro::executor, TimePoint::max());
    const auto at = sleepers_.insert(sleepers_.end(), {when, &timer});
    {
      const auto hook = stop.on_stop([&timer] { timer.cancel(); });
      boost::system::error_code woken;
      co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    }
    sleepers_.erase(at);
  }

  /// Wakes every sleeper whose time has come; they run when the test polls.
  void advance(Duration by) {
    now_ += by;
    for (auto& sleeper : sleepers_)
      if (sleeper.when <= now_) sleeper.timer->cancel();
  }
  std::size_t sleepers() const { return sleepers_.size(); }

 private:
  struct Sleeper {
    TimePoint when;
    asio::steady_timer* timer;
  };
  TimePoint now_{std::chrono::hours(1000)};
  std::list<Sleeper> sleepers_;
};

}  // namespace swage::test
