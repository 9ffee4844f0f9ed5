#include "learner/core/admission.hpp"

#include <gmock/gmock.h>

#include "tests/unit/learner/sample.hpp"

namespace swage::learner {
namespace {

using ::testing::HasSubstr;

const PublishedVersions kVersions{{1, 2, 3}, {2}};

Admission look(const Trajectory& t, const AdmissionRules& rules = sample_rules()) {
  return admit(t, rules, kVersions);
}

/// The rejection's code after one change to a sound trajectory; nothing if it was accepted.
template <class Change>
std::optional<RejectCode> after(Change change) {
  auto t = sample_trajectory();
  change(t);
  const auto seen = look(t);
  return seen.rejection ? std::optional(seen.rejection->code) : std::nullopt;
}

TEST(Admission, TakesASoundTrajectory) {
  const auto seen = look(sample_trajectory());
  EXPECT_FALSE(seen.rejection) << seen.rejection->detail;
  EXPECT_EQ(seen.use, Use::ppo);
}

TEST(Admission, RefusesWhatIsMalformed) {
  const auto bad = RejectCode::malformed;
  EXPECT_EQ(after([](auto& t) { t.schema_version = 2; }), bad);
  EXPECT_EQ(after([](auto& t) { t.rollout_id = "Not/allowed"; }), bad);
  EXPECT_EQ(after([](auto& t) { t.rollout_id = std::string(97, 'a'); }), bad);
  EXPECT_EQ(after([](auto& t) { t.attempt = 0; }), bad);
  EXPECT_EQ(after([](auto& t) { t.run_uid = "other"; }), bad);
  EXPECT_EQ(after([](auto& t) { t.stage.reset(); }), bad);
  EXPECT_EQ(after([](auto& t) { t.ids.pop_back(); }), bad);
  EXPECT_EQ(after([](auto& t) { t.ids.clear(); }), bad);
  EXPECT_EQ(after([](auto& t) { t.ids[3] = 50; }), bad);
  EXPECT_EQ(after([](auto& t) { t.ids.front() = 49; }), std::nullopt);
  EXPECT_EQ(after([](auto& t) { t.mask[0] = 1; }), bad);
  EXPECT_EQ(after([](auto& t) { t.mask[4] = 2; }), bad);
  EXPECT_EQ(after([](auto& t) { t.turns[1].policy_begin += 1; }), bad);
  EXPECT_EQ(after([](auto& t) { t.turns[0].policy_end -= 1; }), bad);  // m = 1 outside a message
  EXPECT_EQ(after([](auto& t) { t.turns[1].observation_end += 9; }), bad);
  EXPECT_EQ(after([](auto& t) { t.truncated = true; }), bad);
  EXPECT_EQ(after([](auto& t) { t.stop_reason = RolloutStop::turn_limit; }), bad);
  EXPECT_EQ(after([](auto& t) {
              t.stop_reason = RolloutStop::turn_limit;
              t.truncated = true;
            }),
            std::nullopt);
  EXPECT_EQ(after([](auto& t) { t.stop_reason = RolloutStop::none; }), bad);
  EXPECT_EQ(after([](auto& t) { t.use = Use::none; }), bad);
  EXPECT_EQ(after([](auto& t) { t.rewards[0].value = std::nan(""); }), bad);
}

TEST(Admission, HoldsTheLengthToTheContext) {
  auto rules = sample_rules();
  const auto t = sample_trajectory();
  rules.context = t.ids.size();
  EXPECT_FALSE(look(t, rules).rejection);
  rules.context = t.ids.size() - 1;
  EXPECT_TRUE(look(t, rules).rejection);
}

TEST(Admission, RefusesLogProbabilitiesThatNoSoftmaxGives) {
  const auto bad = RejectCode::malformed;
  EXPECT_EQ(after([](auto& t) { t.behaviour_logprobs[4] = 2e-4F; }), bad);
  EXPECT_EQ(after([](auto& t) { t.behaviour_logprobs[4] = 0.9e-4F; }), std::nullopt);
  EXPECT_EQ(
      after([](auto& t) { t.behaviour_logprobs[4] = -std::numeric_limits<float>::infinity(); }),
      bad);
  EXPECT_EQ(after([](auto& t) { t.behaviour_logprobs[0] = 5; }), std::nullopt);  // mask 0
}

TEST(Admission, TurnsATrajectoryToImitationWhenOverOneInAHundredLogProbabilitiesIsMissing) {
  auto rules = sample_rules();
  rules.context = 10'000;
  auto t = sample_trajectory("run-agentic-1-0", 100);  // 300 sampled tokens
  std::size_t missing = 0;
  for (std::size_t i = 0; missing < 3; ++i)
    if (t.mask[i] != 0) t.behaviour_logprobs[i] = std::nanf(""), ++missing;
  EXPECT_EQ(look(t, rules).use, Use::ppo);
  for (std::size_t i = t.mask.size(); missing < 4; --i)
    if (t.mask[i - 1] != 0) t.behaviour_logprobs[i - 1] = std::nanf(""), ++missing;
  const auto seen = look(t, rules);
  EXPECT_FALSE(seen.rejection);
  EXPECT_EQ(seen.use, Use::imitation);
}

TEST(Admission, RefusesVersionsThatWereNotPublishedOrWereAbandoned) {
  const auto bad = RejectCode::bad_version;
  EXPECT_EQ(after([](auto& t) { t.spans[0].version = 4; }), bad);
  EXPECT_EQ(after([](auto& t) { t.spans[1].version = 2; }), bad);
  EXPECT_EQ(after([](auto& t) { t.spans[1].version = 3; }), std::nullopt);
  EXPECT_EQ(after([](auto& t) { t.spans[0].version = 3; }), bad);  // they must ascend
  EXPECT_EQ(after([](auto& t) { t.spans.pop_back(); }), bad);
  EXPECT_EQ(after([](auto& t) { t.spans[0].end += 1; }), bad);  // covers an observation
  EXPECT_EQ(after([](auto& t) { t.spans[0].begin += 1; }), bad);
  EXPECT_EQ(after([](auto& t) { std::swap(t.spans[0], t.spans[1]); }), bad);
}

TEST(Admission, TheTeacherNeedsNoVersionsAndNoModel) {
  EXPECT_EQ(after([](auto& t) {
              t.use = Use::imitation;
              t.actor = Actor::teacher;
              t.spans.clear();
              t.config_digest.clear();
              t.temperature = 0;
            }),
            std::nullopt);
}

TEST(Admission, RefusesAnotherModelTokenizerOrRenderer) {
  const auto bad = RejectCode::wrong_model;
  EXPECT_EQ(after([](auto& t) { t.config_digest = "other"; }), bad);
  EXPECT_EQ(after([](auto& t) { t.tokenizer_digest = "other"; }), bad);
  EXPECT_EQ(after([](auto& t) { t.renderer = "chatml"; }), bad);
}

TEST(Admission, RefusesSamplingThatTheTrainerDoesNotKnow) {
  EXPECT_EQ(after([](auto& t) { t.temperature = 1; }), RejectCode::malformed);
  EXPECT_EQ(after([](auto& t) { t.temperature = 0.6F; }), std::nullopt);
  EXPECT_EQ(after([](auto& t) { t.filtered = true; }), RejectCode::malformed);
}

TEST(Admission, RefusesAVerdictThatIsNotSignedOrNotForThisWork) {
  const auto bad = RejectCode::bad_verdict;
  EXPECT_EQ(after([](auto& t) { t.final_verdict.reset(); }), bad);
  EXPECT_EQ(after([](auto& t) { t.final_verdict = 1; }), bad);
  EXPECT_EQ(after([](auto& t) { t.verdicts[0].signature_valid = false; }), bad);
  EXPECT_EQ(after([](auto& t) { t.verdicts[0].rollout_id = "run-agentic-0-1"; }), bad);
  EXPECT_EQ(after([](auto& t) { t.verdicts[0].attempt = 2; }), bad);
  EXPECT_EQ(after([](auto& t) { t.verdicts[0].task_id = "relu"; }), bad);
  EXPECT_EQ(after([](auto& t) { t.verdicts[0].task_digest = "other"; }), bad);
  EXPECT_EQ(after([](auto& t) { t.verdicts[0].pool = "pools.other"; }), bad);
  EXPECT_EQ(after([](auto& t) { t.verdicts[0].scored = false; }), bad);
  EXPECT_EQ(after([](auto& t) { t.verdicts[0].outcome = Outcome::none; }), bad);
  EXPECT_EQ(after([](auto& t) { t.verdicts[0].full_trust = false; }), bad);
}

TEST(Admission, RefusesARewardThatDoesNotFollowFromTheVerdict) {
  const auto bad = RejectCode::bad_verdict;
  EXPECT_EQ(after([](auto& t) { t.rewards[0].value = 3; }), bad);
  EXPECT_EQ(after([](auto& t) { t.verdicts[0].reward = 3; }), bad);
  EXPECT_EQ(after([](auto& t) { t.verdicts[0].tier = 3; }), bad);
  EXPECT_EQ(after([](auto& t) {
              t.verdicts[0].tier = 3;
              t.verdicts[0].reward = 3;
              t.rewards[0].value = 3;
            }),
            std::nullopt);
  EXPECT_EQ(after([](auto& t) { t.rewards.push_back(t.rewards[0]); }), bad);
  EXPECT_EQ(after([](auto& t) { t.rewards.clear(); }), bad);
}

TEST(Admission, ReducedTrustIsTakenWhereTheRunAllowsIt) {
  auto t = sample_trajectory();
  t.verdicts[0].full_trust = false;
  auto rules = sample_rules();
  rules.allow_reduced_trust = true;
  EXPECT_FALSE(look(t, rules).rejection);
  EXPECT_THAT(look(t).rejection->detail, HasSubstr("reduced trust"));
}

TEST(Admission, AnInfrastructureFailureIsKeptForDiagnosisWhateverItLacks) {
  EXPECT_EQ(after([](auto& t) {
              t.infrastructure_failure = "sandbox_lost";
              t.stop_reason = RolloutStop::infrastructure;
              t.final_verdict.reset();
              t.rewards.clear();
              t.ids.clear();
            }),
            std::nullopt);
  EXPECT_EQ(after([](auto& t) {
              t.infrastructure_failure = "sandbox_lost";
              t.run_uid = "other";
            }),
            RejectCode::malformed);
}

TEST(Admission, ATrajectoryWithoutSampledTokensIsAccepted) {
  EXPECT_EQ(after([](auto& t) {
              t.mask.assign(t.mask.size(), 0);
              t.spans.clear();
              t.rewards.clear();
            }),
            std::nullopt);
}

}  // namespace
}  // namespace swage::learner
