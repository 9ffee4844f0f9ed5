#pragma once

#include <optional>
#include <utility>

#include "gpu_pool/lease/api/types.hpp"

namespace swage::worker {

/// Decides which evaluation one GPU may run. Pure: no clock, lock or I/O; the caller does what the
/// answer says. A token at or below the floor has lost its lease, even if the GPU is idle.
class Fence {
 public:
  enum class Answer {
    start,      ///< kill and clear whatever still runs, then begin
    attach,     ///< this very call was made before: join it, or return its verdict
    stale,      ///< the lease is over
    duplicate,  ///< one token, two requests: alarm
  };
  Answer evaluate(lease::Token token, const lease::RequestId& request);
  void clear(lease::Token token);        ///< the queue takes back every lease up to `token`
  void registered(lease::Token newest);  ///< grants up to `newest` are not ours
  lease::Token floor() const { return floor_; }

 private:
  lease::Token floor_;
  std::optional<std::pair<lease::Token, lease::RequestId>> last_;
};

}  // namespace swage::worker
