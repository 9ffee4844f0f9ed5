#include "common/asio/clock.hpp"

#include "common/asio/asio.hpp"

namespace swage {
namespace {

class SteadyClock final : public Clock {
 public:
  TimePoint now() const override { return std::chrono::steady_clock::now(); }

  Task<> sleep_until(TimePoint when, StopSource& stop) override {
    if (stop.stopping()) co_return;
    asio::steady_timer timer(co_await asio::this_coro::executor, when);
    const auto hook = stop.on_stop([&timer] { timer.cancel(); });
    boost::system::error_code woken;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
};

}  // namespace

std::unique_ptr<Clock> make_steady_clock() { return std::make_unique<SteadyClock>(); }

}  // namespace swage
