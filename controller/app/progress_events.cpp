#include "controller/app/progress_events.hpp"

namespace swage::controller {

using nlohmann::json;

void ProgressEvents::say_if_new(const std::string& type, json data, std::vector<Event>& out) {
  auto& last = last_[type];
  if (last == data) return;
  last = data;
  // A condition's type stands behind a slash in the key only.
  out.emplace_back(type.substr(0, type.find('/')), std::move(data));
}

std::vector<ProgressEvents::Event> ProgressEvents::look(RunPhase phase, const LearnerStatus& status,
                                                        std::size_t running, std::size_t completed,
                                                        const SandboxCounts& sandboxes) {
  std::vector<Event> out;
  say_if_new("phase", {{"phase", phase_name(phase)}}, out);
  if (status.stage != Stage::none) {
    const auto* stage = stage_name(status.stage);
    say_if_new("stage", {{"stage", stage}}, out);
    say_if_new("step",
               {{"stage", stage}, {"step", status.step}, {"steps_total", status.steps_total}}, out);
    say_if_new("weights", {{"weight_version", status.weight_version}}, out);
  }
  if (status.reward_mean)
    say_if_new("reward", {{"step", status.step}, {"reward_mean", *status.reward_mean}}, out);
  if (status.reward_after_rft)
    say_if_new("evaluation/1", {{"round", 1}, {"reward_mean", *status.reward_after_rft}}, out);
  if (status.reward_final)
    say_if_new("evaluation/2", {{"round", 2}, {"reward_mean", *status.reward_final}}, out);
  if (!status.progress.empty()) say_if_new("progress", {{"text", status.progress}}, out);
  json pause{{"id", nullptr}};
  if (status.pause)
    pause = {{"id", status.pause->id},
             {"reason", status.pause->reason},
             {"message", status.pause->message}};
  say_if_new("pause", std::move(pause), out);
  for (const auto& condition : status.conditions)
    say_if_new("condition/" + condition.type,
               {{"type", condition.type},
                {"status", condition.status},
                {"reason", condition.reason},
                {"message", condition.message}},
               out);
  say_if_new("counts",
             {{"running", running},
              {"completed", completed},
              {"sandboxes_warm", sandboxes.warm},
              {"sandboxes_claimed", sandboxes.claimed}},
             out);
  return out;
}

}  // namespace swage::controller
