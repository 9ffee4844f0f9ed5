#include "gpu_pool/worker/core/fence.hpp"

#include <algorithm>

namespace swage::worker {

Fence::Answer Fence::evaluate(lease::Token token, const lease::RequestId& request) {
  if (last_ && last_->first == token)
    return last_->second == request ? Answer::attach : Answer::duplicate;
  if (token <= floor_) return Answer::stale;
  floor_ = token;
  last_ = {token, request};
  return Answer::start;
}

void Fence::clear(lease::Token token) { floor_ = std::max(floor_, token); }

void Fence::registered(lease::Token newest) { floor_ = std::max(floor_, newest); }

}  // namespace swage::worker
