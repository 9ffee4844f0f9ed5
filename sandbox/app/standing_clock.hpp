#pragma once

#include <memory>
#include <utility>

#include "common/asio/asio.hpp"
#include "common/asio/clock.hpp"
#include "sandbox/core/tool_clock.hpp"

namespace swage::sandbox {

/// Lets a tool's clock stand while something that is not its own work goes on, and wakes whoever
/// waits for the tool's timeout by `tick`. Without a clock it does nothing.
class StandingClock {
 public:
  StandingClock(std::shared_ptr<ToolClock> clock, Clock& time, asio::steady_timer& tick)
      : clock_(std::move(clock)), time_(time), tick_(tick) {
    if (clock_) clock_->wait_begins(time_.now());
    tick_.cancel();
  }
  ~StandingClock() {
    if (clock_) clock_->wait_ends(time_.now());
    tick_.cancel();
  }
  StandingClock(const StandingClock&) = delete;
  StandingClock& operator=(const StandingClock&) = delete;

 private:
  std::shared_ptr<ToolClock> clock_;
  Clock& time_;
  asio::steady_timer& tick_;
};

}  // namespace swage::sandbox
