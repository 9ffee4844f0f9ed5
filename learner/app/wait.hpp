#pragma once

#include "common/asio/clock.hpp"
#include "common/asio/event.hpp"

namespace swage::learner {

/// Returns when `event` is notified, at `until`, or when `stop` is requested. Awaited on the strand
/// of all three.
Task<> wait_until(Event& event, TimePoint until, Clock& clock, StopSource& stop);

}  // namespace swage::learner
