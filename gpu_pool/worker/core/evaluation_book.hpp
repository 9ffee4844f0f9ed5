#pragma once

#include <optional>

#include "common/base/time.hpp"
#include "gpu_pool/worker/core/fence.hpp"

namespace swage::worker {

/// What one GPU evaluates, until when, and for whom its verdict is kept. Pure: it is handed `now`,
/// and the caller does what the answers say.
/// 1. accept() lets a call in; the evaluation is open until ended().
/// 2. It ends at the latest when its lease runs out (extend() moves that) or, once judging has
///    begun, after its time limit: overdue() says so.
/// 3. Its ending is kept for ten minutes for the same call, unless a newer one is let in.
class EvaluationBook {
 public:
  enum class Answer { start, attach, stale, duplicate, draining };
  enum class Overdue { lease, time_limit };

  /// `start`: whatever was open must be killed and cleared before this one runs.
  Answer accept(lease::Token token, const lease::RequestId& request, Duration valid_for,
                TimePoint now);
  /// The lease of the open evaluation was renewed. It never gets shorter.
  void extend(lease::Token token, Duration valid_for, TimePoint now);
  /// It may be judged for so long.
  void judging(Duration limit, TimePoint now);
  void ended(TimePoint now);

  /// When to ask overdue() again; TimePoint::max() when nothing is open.
  TimePoint next_check() const;
  std::optional<Overdue> overdue(TimePoint now) const;

  /// The queue takes leases up to `token` back. True: what is open must be killed first.
  bool clear(lease::Token token);
  /// restored: what was reported as running is held again. True: it is not, kill it.
  bool registered(lease::Token newest, bool restored, std::optional<lease::Token> reported);
  void drain() { draining_ = true; }

  bool open() const { return open_one() != nullptr; }
  lease::Token floor() const { return fence_.floor(); }

 private:
  struct Current {
    lease::Token token;
    TimePoint lease_ends, limit = TimePoint::max();
    std::optional<TimePoint> ended;
  };
  Current* open_one() { return current_ && !current_->ended ? &*current_ : nullptr; }
  const Current* open_one() const { return current_ && !current_->ended ? &*current_ : nullptr; }

  Fence fence_;
  std::optional<Current> current_;
  bool draining_ = false;
};

}  // namespace swage::worker
