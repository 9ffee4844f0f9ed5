#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "learner/api/trajectory.hpp"
#include "learner/core/admission.hpp"

namespace swage::learner {

/// A sound PPO trajectory: a prompt of `gap` tokens, then turns of 3 sampled and `gap` observed
/// tokens each.
inline Trajectory sample_trajectory(const std::string& id = "run-agentic-0-0",
                                    std::size_t turns = 2, std::size_t gap = 4, double reward = 2) {
  Trajectory t;
  t.schema_version = 1;
  t.rollout_id = id;
  t.attempt = 1;
  t.run_uid = "uid";
  t.stage = Stage::agentic;
  t.task_id = "softmax";
  t.task_digest = "task";
  t.config_digest = "config";
  t.tokenizer_digest = "tokenizer";
  t.renderer = "tiny";
  t.temperature = 0.6;
  t.use = Use::ppo;
  const auto append = [&t](std::size_t count, bool sampled) {
    for (std::size_t i = 0; i < count; ++i) {
      t.ids.push_back(static_cast<std::uint32_t>(t.ids.size() % 50));
      t.mask.push_back(sampled ? 1 : 0);
      t.behaviour_logprobs.push_back(sampled ? -1.5F : std::numeric_limits<float>::quiet_NaN());
    }
  };
  append(gap, false);
  for (std::size_t i = 0; i < turns; ++i) {
    Turn turn;
    turn.policy_begin = static_cast<std::uint32_t>(t.ids.size());
    append(3, true);
    turn.policy_end = static_cast<std::uint32_t>(t.ids.size());
    t.spans.push_back({turn.policy_begin, turn.policy_end, 1});
    append(gap, false);
    turn.observation_end = static_cast<std::uint32_t>(t.ids.size());
    turn.calls = {{"Bash", "arguments " + std::to_string(i), true}};
    turn.observation_digest = "observation " + std::to_string(i);
    turn.work_digest = "work " + std::to_string(i);
    t.turns.push_back(turn);
  }
  VerdictSummary v;
  v.signature_valid = true;
  v.rollout_id = id;
  v.attempt = 1;
  v.task_id = "softmax";
  v.task_digest = "task";
  v.pool = "pools.local";
  v.scored = true;
  v.outcome = reward > 0 ? Outcome::right : Outcome::wrong;
  v.full_trust = true;
  v.tier = reward > 0 ? static_cast<std::uint32_t>(reward) : 0;
  v.reward = reward;
  v.code = "OK";
  t.verdicts = {v};
  t.final_verdict = 0;
  t.rewards = {{static_cast<std::uint32_t>(t.ids.size() - 1), reward, "terminal"}};
  t.stop_reason = RolloutStop::no_tool_call;
  return t;
}

inline AdmissionRules sample_rules() {
  AdmissionRules rules;
  rules.run_uid = "uid";
  rules.config_digest = "config";
  rules.tokenizer_digest = "tokenizer";
  rules.renderer = "tiny";
  rules.vocabulary = 50;
  rules.context = 64;
  rules.pool = "pools.local";
  rules.temperature = 0.6;
  return rules;
}

}  // namespace swage::learner
