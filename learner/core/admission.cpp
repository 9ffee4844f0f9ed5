#include "learner/core/admission.hpp"

#include <algorithm>
#include <cmath>

#include "learner/core/reward.hpp"

namespace swage::learner {
namespace {

using Outcome = std::optional<Rejection>;

Outcome malformed(std::string detail) {
  return Rejection{RejectCode::malformed, std::move(detail)};
}

Outcome check_identity(const Trajectory& t, const AdmissionRules& rules) {
  if (t.schema_version != 1)
    return malformed("schema_version is " + std::to_string(t.schema_version) + ", known is 1");
  const bool name_ok = !t.rollout_id.empty() && t.rollout_id.size() <= 96 &&
                       std::all_of(t.rollout_id.begin(), t.rollout_id.end(), [](char c) {
                         return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
                       });
  if (!name_ok) return malformed("rollout_id must be 1 to 96 of [a-z0-9-]");
  if (t.attempt == 0) return malformed("attempt counts from 1");
  if (t.run_uid != rules.run_uid)
    return malformed("run_uid is " + t.run_uid + ", this run is " + rules.run_uid);
  if (!t.stage) return malformed("stage is not one that makes trajectories");
  return std::nullopt;
}

Outcome check_arrays(const Trajectory& t, const AdmissionRules& rules) {
  const std::size_t length = t.ids.size();
  if (length == 0) return malformed("token_ids is empty");
  if (length > rules.context)
    return malformed("token_ids has " + std::to_string(length) + " entries, the context is " +
                     std::to_string(rules.context));
  if (t.mask.size() != length || t.behaviour_logprobs.size() != length)
    return malformed("token_ids, loss_mask and behaviour_logprobs differ in length");
  for (std::size_t i = 0; i < length; ++i) {
    if (t.ids[i] >= rules.vocabulary)
      return malformed("token_ids[" + std::to_string(i) + "] is outside the vocabulary");
    if (t.mask[i] > 1) return malformed("loss_mask[" + std::to_string(i) + "] is not 0 or 1");
  }
  if (t.mask[0] != 0) return malformed("loss_mask[0] must be 0: nothing predicts the first token");
  return std::nullopt;
}

Outcome check_turns(const Trajectory& t) {
  std::vector<std::uint8_t> in_policy(t.ids.size(), 0);
  std::uint32_t at = t.turns.empty() ? 0 : t.turns.front().policy_begin;
  for (std::size_t i = 0; i < t.turns.size(); ++i) {
    const auto& turn = t.turns[i];
    const bool ordered = turn.policy_begin == at && turn.policy_begin <= turn.policy_end &&
                         turn.policy_end <= turn.observation_end &&
                         turn.observation_end <= t.ids.size();
    if (!ordered) return malformed("turns[" + std::to_string(i) + "] is not contiguous");
    std::fill(in_policy.begin() + turn.policy_begin, in_policy.begin() + turn.policy_end,
              std::uint8_t{1});
    at = turn.observation_end;
  }
  for (std::size_t i = 0; i < t.ids.size(); ++i)
    if (t.mask[i] != 0 && in_policy[i] == 0)
      return malformed("loss_mask[" + std::to_string(i) + "] is 1 outside every policy message");
  for (const auto& reward : t.rewards)
    if (reward.position >= t.ids.size() || !std::isfinite(reward.value))
      return malformed("rewards has a position outside the tokens or a value that is not finite");
  return std::nullopt;
}

Outcome check_stop(const Trajectory& t) {
  const bool cut = t.stop_reason == RolloutStop::turn_limit ||
                   t.stop_reason == RolloutStop::context_full ||
                   t.stop_reason == RolloutStop::wall_clock;
  if (t.stop_reason == RolloutStop::none) return malformed("stop_reason is missing");
  if (t.stop_reason == RolloutStop::infrastructure)
    return malformed("stop_reason is infrastructure, but infrastructure_failure is empty");
  if (cut != t.truncated) return malformed("truncated does not agree with stop_reason");
  return std::nullopt;
}

Outcome check_model(const Trajectory& t, const AdmissionRules& rules) {
  const auto wrong = [](std::string detail) -> Outcome {
    return Rejection{RejectCode::wrong_model, std::move(detail)};
  };
  if (t.actor == Actor::policy && t.config_digest != rules.config_digest)
    return wrong("config_digest is " + t.config_digest + ", this run's is " + rules.config_digest);
  if (t.tokenizer_digest != rules.tokenizer_digest)
    return wrong("tokenizer_digest is " + t.tokenizer_digest + ", this run's is " +
                 rules.tokenizer_digest);
  if (!rules.renderer.empty() && t.renderer != rules.renderer)
    return wrong("renderer is " + t.renderer + ", this run's is " + rules.renderer);
  return std::nullopt;
}

/// Spans cover exactly the positions with mask 1, versions ascend, all published and none
/// abandoned.
Outcome check_versions(const Trajectory& t, const PublishedVersions& versions) {
  const auto bad = [](std::string detail) -> Outcome {
    return Rejection{RejectCode::bad_version, std::move(detail)};
  };
  std::vector<std::uint8_t> covered(t.ids.size(), 0);
  std::uint32_t at = 0;
  std::uint64_t newest = 0;
  for (const auto& span : t.spans) {
    if (span.begin < at || span.end <= span.begin || span.end > t.ids.size())
      return bad("version_spans are not ascending");
    if (span.version < newest) return bad("weight versions do not ascend");
    if (!versions.published.contains(span.version) || versions.abandoned.contains(span.version))
      return bad("weight version " + std::to_string(span.version) +
                 " was not published, or was abandoned");
    std::fill(covered.begin() + span.begin, covered.begin() + span.end, std::uint8_t{1});
    at = span.end;
    newest = span.version;
  }
  for (std::size_t i = 0; i < t.ids.size(); ++i)
    if ((t.mask[i] != 0) != (covered[i] != 0))
      return bad("version_spans do not cover exactly the sampled tokens, see token " +
                 std::to_string(i));
  return std::nullopt;
}

Outcome check_verdict(const Trajectory& t, const AdmissionRules& rules) {
  const auto bad = [](std::string detail) -> Outcome {
    return Rejection{RejectCode::bad_verdict, std::move(detail)};
  };
  if (!t.final_verdict) return bad("there is no final verdict");
  if (*t.final_verdict >= t.verdicts.size()) return bad("final_verdict points at nothing");
  const auto& v = t.verdicts[*t.final_verdict];
  if (!v.signature_valid) return bad("the signature does not agree with the pool's key");
  if (!rules.pool.empty() && v.pool != rules.pool)
    return bad("the verdict is of pool " + v.pool + ", this run's is " + rules.pool);
  if (v.rollout_id != t.rollout_id || v.attempt != t.attempt)
    return bad("the verdict is for another rollout: " + v.rollout_id);
  if (v.task_id != t.task_id || v.task_digest != t.task_digest)
    return bad("the verdict is for another task: " + v.task_id);
  if (!v.full_trust && !rules.allow_reduced_trust)
    return bad("the verdict has reduced trust; allowReducedTrust accepts it");
  const auto reward = reward_of(v, rules.reward);
  if (!reward) return bad("a verdict with outcome " + v.code + " decides no reward");
  if (rules.reward == RewardKind::paper && (!v.reward || *v.reward != *reward))
    return bad("the verdict's reward does not follow from its outcome and tier");
  // A reward lies at a sampled token: without any there is no entry.
  const bool sampled = std::find(t.mask.begin(), t.mask.end(), 1) != t.mask.end();
  if (!sampled && t.rewards.empty()) return std::nullopt;
  if (t.rewards.size() != 1 || t.rewards[0].kind != "terminal" ||
      std::abs(t.rewards[0].value - *reward) > 1e-9)
    return bad("rewards must be one terminal entry of " + std::to_string(*reward));
  return std::nullopt;
}

Outcome check_logprobs(const Trajectory& t) {
  for (std::size_t i = 0; i < t.ids.size(); ++i) {
    const float value = t.behaviour_logprobs[i];
    if (t.mask[i] != 0 && !std::isnan(value) && (std::isinf(value) || value > 1e-4F)) {
      return malformed("behaviour_logprobs[" + std::to_string(i) +
                       "] is not in (-inf, 1e-4] and not NaN");
    }
  }
  return std::nullopt;
}

Outcome check_sampling(const Trajectory& t, const AdmissionRules& rules) {
  if (t.filtered) return malformed("sampling filters are on; training takes none");
  if (std::abs(t.temperature - rules.temperature) > 1e-6 * std::max(1.0, rules.temperature))
    return malformed("sampling.temperature is " + std::to_string(t.temperature) +
                     ", the trainer divides by " + std::to_string(rules.temperature));
  return std::nullopt;
}

/// The first thing wrong with a trajectory that claims to be whole.
std::optional<Rejection> check_content(const Trajectory& t, const AdmissionRules& rules,
                                       const PublishedVersions& versions) {
  if (t.use == Use::none) return malformed("use is missing");
  if (auto wrong = check_arrays(t, rules)) return wrong;
  if (auto wrong = check_turns(t)) return wrong;
  if (auto wrong = check_stop(t)) return wrong;
  if (auto wrong = check_model(t, rules)) return wrong;
  if (t.use == Use::ppo) {
    if (auto wrong = check_logprobs(t)) return wrong;
    if (auto wrong = check_sampling(t, rules)) return wrong;
    if (auto wrong = check_versions(t, versions)) return wrong;
  }
  return check_verdict(t, rules);
}

}  // namespace

std::string_view to_string(RejectCode code) {
  switch (code) {
    case RejectCode::malformed:
      return "malformed";
    case RejectCode::bad_version:
      return "bad_version";
    case RejectCode::wrong_model:
      return "wrong_model";
    case RejectCode::bad_verdict:
      return "bad_verdict";
  }
  return {};
}

Use admitted_use(const Trajectory& t) {
  if (t.use != Use::ppo) return t.use;
  std::uint64_t missing = 0;
  std::uint64_t sampled = 0;
  for (std::size_t i = 0; i < t.mask.size() && i < t.behaviour_logprobs.size(); ++i) {
    if (t.mask[i] == 0) continue;
    ++sampled;
    if (std::isnan(t.behaviour_logprobs[i])) ++missing;
  }
  return missing * 100 > sampled ? Use::imitation : Use::ppo;
}

Admission admit(const Trajectory& t, const AdmissionRules& rules,
                const PublishedVersions& versions) {
  Admission out;
  out.use = t.use;
  out.rejection = check_identity(t, rules);
  if (out.rejection || !t.infrastructure_failure.empty()) return out;
  out.rejection = check_content(t, rules, versions);
  if (!out.rejection && t.use == Use::ppo) out.use = admitted_use(t);
  return out;
}

}  // namespace swage::learner
