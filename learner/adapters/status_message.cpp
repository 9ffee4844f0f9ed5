#include "learner/adapters/status_message.hpp"

#include "learner/adapters/trajectory_message.hpp"

namespace swage::learner {

v1::LearnerStatus to_message(const Status& status, const std::string& run_uid) {
  v1::LearnerStatus out;
  out.set_run_uid(run_uid);
  out.set_stage(to_wire(status.stage));
  out.set_stage_round(status.round);
  out.set_step(status.step);
  out.set_steps_total(status.steps_total);
  out.set_weight_version(status.weight_version);
  out.set_target(status.target);
  out.set_accepted(status.accepted);
  out.set_ready(status.ready);
  out.set_consumed(status.consumed);
  out.set_staleness(status.staleness);
  out.set_batch(status.batch);
  out.set_group_size(status.group_size);
  out.set_next_group(status.next_group);
  if (status.pause) {
    out.mutable_pause()->set_id(status.pause->id);
    out.mutable_pause()->set_reason(status.pause->reason);
    out.mutable_pause()->set_message(status.pause->message);
  }
  for (const auto& condition : status.conditions) {
    auto* to = out.add_conditions();
    to->set_type(condition.type);
    to->set_status(condition.status);
    to->set_reason(condition.reason);
    to->set_message(condition.message);
  }
  for (const auto group : status.cancel_groups) out.add_cancel_groups(group);
  out.set_training(status.training);
  if (status.reward_mean) out.set_reward_mean(*status.reward_mean);
  if (status.reward_after_rft) out.set_reward_after_rft(*status.reward_after_rft);
  if (status.reward_final) out.set_reward_final(*status.reward_final);
  out.set_trajectories(status.trajectories);
  out.set_duplicates(status.duplicates);
  out.set_rejected(status.rejected);
  out.set_stage_serial(status.stage_serial);
  out.set_progress(status.progress);
  return out;
}

}  // namespace swage::learner
