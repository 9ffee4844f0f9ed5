#include "learner/app/wait.hpp"

#include <tuple>

#include "common/asio/gate.hpp"

namespace swage::learner {
namespace {

Task<> ring(Clock& clock, TimePoint at, StopSource& woken) {
  co_await clock.sleep_until(at, woken);
  woken.request(StopReason::deadline);
}

}  // namespace

Task<> wait_until(Event& event, TimePoint until, Clock& clock, StopSource& stop) {
  if (stop.stopping()) co_return;
  StopSource woken;
  const auto hook = stop.on_stop([&woken] { woken.request(StopReason::requested); });
  StopSource fault;
  const auto strand = co_await asio::this_coro::executor;
  Gate alarm(strand, fault);
  std::ignore = alarm.spawn("alarm", ring(clock, until, woken));
  co_await event.wait(woken);
  woken.request(StopReason::requested);
  co_await alarm.join();
}

}  // namespace swage::learner
