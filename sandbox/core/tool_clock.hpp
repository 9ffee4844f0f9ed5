#pragma once

#include "common/base/time.hpp"

namespace swage::sandbox {

/// How long a tool call has run, without the time it waited for an evaluation or a compilation.
/// Waits may overlap: the clock stands while at least one goes on. Pure: it is handed `now`.
class ToolClock {
 public:
  explicit ToolClock(TimePoint now) : since_(now) {}
  void wait_begins(TimePoint now) {
    if (waits_++ == 0) ran_ += now - since_;
  }
  void wait_ends(TimePoint now) {
    if (--waits_ == 0) since_ = now;
  }
  bool standing() const { return waits_ > 0; }
  Duration ran(TimePoint now) const { return standing() ? ran_ : ran_ + (now - since_); }
  /// When `limit` will have run if no further wait begins; never, while the clock stands.
  TimePoint due(Duration limit) const {
    return standing() ? TimePoint::max() : since_ + (limit - ran_);
  }

 private:
  TimePoint since_;
  Duration ran_{};
  int waits_ = 0;
};

}  // namespace swage::sandbox
