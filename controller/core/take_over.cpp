#include "controller/core/dispatcher.hpp"

namespace swage::controller {

/// A rollout that an earlier dispatcher gave to this worker, unless it is somebody else's by now.
bool Dispatcher::take_over(const std::string& worker, const RolloutNews& news) {
  if (settings_.take_over == Duration{} || !workers_.contains(worker)) return false;
  const auto name = parse_rollout_id(settings_.run_uid, news.attempt.rollout_id);
  if (!name || (attached_ && name->stage != status_.stage)) return false;
  const auto found = live_.find(news.attempt.rollout_id);
  if (found != live_.end() && (found->second.state != RolloutState::planned ||
                               found->second.attempt.number > news.attempt.number))
    return false;
  live_[news.attempt.rollout_id] = {*name,      news.attempt,     RolloutState::running,
                                    worker,     news.sandbox_uid, news.turns,
                                    news.tokens};
  gaps_.erase(*name);
  if (name->stage == status_.stage) next_group_ = std::max(next_group_, name->group + 1);
  return true;
}

bool Dispatcher::holds(const Attempt& attempt) const {
  const auto found = live_.find(attempt.rollout_id);
  return found != live_.end() && found->second.attempt == attempt;
}

}  // namespace swage::controller
