#include <gmock/gmock.h>
#include <torch/torch.h>

#include <cmath>
#include <random>

#include "learner/torch/decoder_trainer.hpp"
#include "learner/torch/losses.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::learner {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr std::uint32_t kVocabulary = 64;

TrainerOptions options() {
  TrainerOptions o;
  o.model_source = "scratch:tiny";
  o.vocabulary = kVocabulary;
  o.seed = 3;
  o.temperature = 0.6;
  return o;
}

std::unique_ptr<Trainer> trainer(const TrainerOptions& o = options()) {
  auto made = make_decoder_trainer(o);
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

Sequence sequence(const std::string& id, std::size_t length, unsigned seed) {
  std::mt19937 random(seed);
  Sequence s{id, {}, {}};
  for (std::size_t i = 0; i < length; ++i) s.ids.push_back(random() % kVocabulary);
  for (std::uint32_t i = 1; i < length; ++i)
    if (random() % 2 == 0) s.positions.push_back(i);
  if (s.positions.empty()) s.positions.push_back(1);
  return s;
}

std::vector<Sequence> sequences() {
  return {sequence("a", 20, 1), sequence("b", 31, 2), sequence("c", 9, 3), sequence("d", 17, 4)};
}

ActorTargets actor_targets(const Sequence& s, std::size_t count, double old = -3.0) {
  ActorTargets t;
  const auto n = s.positions.size();
  for (std::size_t k = 0; k < n; ++k) {
    t.advantages.push_back(k % 2 == 0 ? 1.0 : -0.5);
    t.old_logprobs.push_back(old);
    t.weights.push_back(1.0 / static_cast<double>(count * n));
  }
  return t;
}

std::vector<ActorTargets> all_targets(const std::vector<Sequence>& all, double old = -3.0) {
  std::vector<ActorTargets> out;
  for (const auto& s : all) out.push_back(actor_targets(s, all.size(), old));
  return out;
}

/// The policy loss of one token, by the formulas of the design, one number at a time.
double policy_loss_of(double logp, double old, double a, const ClipSettings& clip) {
  const double d = std::min(20.0, std::max(-20.0, logp - old));
  const double rho = std::exp(d);
  const double bounded = std::min(1 + clip.high, std::max(1 - clip.low, rho));
  double loss = std::max(-a * rho, -a * bounded);
  if (a < 0 && clip.dual > 0) loss = std::min(loss, -a * clip.dual);
  return loss;
}

TEST(Losses, ThePolicyLossAgreesWithTheScalarFormula) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal(0, 1.5);
  std::vector<double> logp(200), old(200), a(200);
  for (std::size_t i = 0; i < 200; ++i) {
    logp[i] = -std::abs(normal(random));
    old[i] = -std::abs(normal(random));
    a[i] = normal(random);
  }
  for (const double dual : {0.0, 3.0}) {
    const ClipSettings clip{0.2, 0.28, dual, 0.5};
    const auto as = [](const std::vector<double>& v) { return torch::tensor(v, torch::kDouble); };
    const auto out = policy_loss(as(logp), as(old), as(a), clip);
    for (std::size_t i = 0; i < 200; ++i)
      EXPECT_NEAR(out.loss[static_cast<std::int64_t>(i)].item<double>(),
                  policy_loss_of(logp[i], old[i], a[i], clip), 1e-12);
  }
}

TEST(Losses, AMissingOldLogProbabilityGivesRatioOneAndTheFullGradient) {
  auto logp = torch::tensor({-1.0, -2.0}, torch::kDouble).requires_grad_(true);
  const auto old = torch::tensor({std::nan(""), -2.0}, torch::kDouble);
  const auto out = policy_loss(logp, old, torch::tensor({2.0, 2.0}, torch::kDouble), {});
  out.loss.sum().backward();
  EXPECT_EQ(out.ratio[0].item<double>(), 1.0);
  EXPECT_EQ(logp.grad()[0].item<double>(), -2.0);
  EXPECT_EQ(out.missing.sum().item<std::int64_t>(), 1);
  EXPECT_EQ(out.k3[0].item<double>(), 0.0);
}

TEST(Losses, AHugeLogRatioStaysFinite) {
  auto logp = torch::tensor({-0.1, -900.0}, torch::kFloat).requires_grad_(true);
  const auto old = torch::tensor({-900.0, -0.1}, torch::kFloat);
  const auto out = policy_loss(logp, old, torch::tensor({-1.0, 1.0}, torch::kFloat), {});
  out.loss.sum().backward();
  EXPECT_TRUE(torch::isfinite(out.loss).all().item<bool>());
  EXPECT_TRUE(torch::isfinite(logp.grad()).all().item<bool>());
}

TEST(Losses, TheValueLossIsClippedAroundTheOldValue) {
  const auto v = torch::tensor({2.0, 0.2, -1.0}), r = torch::tensor({3.0, 0.0, 0.0});
  const auto old = torch::tensor({0.0, 0.0, 0.0});
  const auto clipped = value_loss(v, r, old, 0.5);
  EXPECT_FLOAT_EQ(clipped[0].item<float>(), 0.5F * 2.5F * 2.5F);  // clamp to 0.5 is further off
  EXPECT_FLOAT_EQ(clipped[1].item<float>(), 0.5F * 0.04F);
  EXPECT_FLOAT_EQ(clipped[2].item<float>(), 0.5F);
  EXPECT_FLOAT_EQ(value_loss(v, r, {}, 0.5)[0].item<float>(), 0.5F);
  EXPECT_FLOAT_EQ(value_loss(v, r, old, 0)[0].item<float>(), 0.5F);
}

TEST(Losses, ChunkedLogProbabilitiesAgreeWithAutogradThroughTheWholeMatrix) {
  torch::manual_seed(1);
  const std::int64_t n = 2'500;  // more than one chunk
  auto rows = torch::randn({n, 8}, torch::kDouble).requires_grad_(true);
  auto matrix = torch::randn({50, 8}, torch::kDouble).requires_grad_(true);
  const auto targets = torch::randint(50, {n}, torch::kLong);
  const auto weight = torch::randn({n}, torch::kDouble);
  torch::Tensor entropy;
  const auto ours = token_logprobs(rows, matrix, targets, 0.6, &entropy);
  (ours * weight).sum().backward();
  const auto to_rows = rows.grad().clone(), to_matrix = matrix.grad().clone();
  rows.mutable_grad().reset();
  matrix.mutable_grad().reset();
  const auto all = torch::log_softmax(torch::matmul(rows, matrix.t()) / 0.6, 1);
  const auto theirs = all.gather(1, targets.unsqueeze(1)).squeeze(1);
  (theirs * weight).sum().backward();
  EXPECT_TRUE(torch::allclose(ours, theirs, 0, 1e-12));
  EXPECT_TRUE(torch::allclose(to_rows, rows.grad(), 0, 1e-11));
  EXPECT_TRUE(torch::allclose(to_matrix, matrix.grad(), 0, 1e-10));
  EXPECT_TRUE(torch::allclose(entropy, -(all.exp() * all).sum(1), 0, 1e-12));
}

std::vector<double> flat(Trainer& t) {
  const auto snapshot = t.snapshot();
  const auto* at = reinterpret_cast<const float*>(snapshot->buffer.data());
  return {at, at + snapshot->buffer.size() / sizeof(float)};
}

TEST(Trainer, MicroBatchesDoNotChangeAStep) {
  const auto all = sequences();
  const auto targets = all_targets(all);
  std::vector<double> reference;
  for (const std::uint64_t budget : {1'000U, 40U, 20U, 1U}) {
    auto o = options();
    o.micro_batch_tokens = budget;
    auto t = trainer(o);
    const auto figures = t->actor_step(all, targets, 1e-3);
    EXPECT_FALSE(figures.skipped);
    const auto weights = flat(*t);
    if (reference.empty()) reference = weights;
    // Adam's first step is rate·sign(g): a tiny gradient may turn, so distances are bounded by it.
    double far = 0;
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (std::abs(weights[i] - reference[i]) > 1e-5) ++far;
    EXPECT_LT(far / static_cast<double>(weights.size()), 1e-3) << budget;
  }
}

TEST(Trainer, OrderOfTheTrajectoriesDoesNotChangeTheFigures) {
  const auto all = sequences();
  auto reversed = all;
  std::reverse(reversed.begin(), reversed.end());
  const auto one = trainer()->actor_step(all, all_targets(all), 1e-3);
  const auto two = trainer()->actor_step(reversed, all_targets(reversed), 1e-3);
  EXPECT_NEAR(one.loss, two.loss, 1e-5);
  EXPECT_NEAR(one.grad_norm, two.grad_norm, 1e-4);
}

TEST(Trainer, PackedSequencesGiveWhatEachGivesAlone) {
  auto t = trainer();
  const auto all = sequences();
  const auto packed = t->logprobs(all);
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_THAT(packed[i], Pointwise(DoubleNear(1e-5), t->logprobs(std::vector{all[i]})[0]));
}

TEST(Trainer, EqualWeightsGiveRatioOne) {
  auto t = trainer();
  const auto all = sequences();
  const auto logp = t->logprobs(all);
  auto targets = all_targets(all);
  for (std::size_t i = 0; i < all.size(); ++i) targets[i].old_logprobs = logp[i];
  const auto f = t->actor_step(all, targets, 1e-3);
  EXPECT_NEAR(f.ratio_sum / static_cast<double>(f.tokens), 1.0, 1e-5);
  EXPECT_NEAR(f.kl_behaviour_sum, 0.0, 1e-5);
  EXPECT_EQ(f.clipped_low + f.clipped_high, 0U);
  EXPECT_GT(f.entropy_sum, 0);
}

TEST(Trainer, TheMismatchIsMeasuredAtTokensOfTheCurrentWeightsOnly) {
  const auto all = sequences();
  const auto logp = trainer()->logprobs(all);
  auto targets = all_targets(all);
  // Everywhere the trainer's own, but for one token that older weights sampled and one without.
  for (std::size_t i = 0; i < all.size(); ++i) {
    targets[i].old_logprobs = logp[i];
    targets[i].current.assign(logp[i].size(), 1);
  }
  targets[0].old_logprobs[0] += 1;
  targets[1].old_logprobs[0] = std::numeric_limits<double>::quiet_NaN();
  const auto every = trainer()->actor_step(all, targets, 1e-3);
  EXPECT_NEAR(every.kl_behaviour_sum, std::exp(-1.0) - 1 + 1, 1e-4);  // k3 of d = -1
  EXPECT_EQ(every.kl_tokens, every.tokens - 1);
  EXPECT_EQ(every.missing_logprobs, 1U);
  targets[0].current[0] = 0;
  const auto some = trainer()->actor_step(all, targets, 1e-3);
  EXPECT_NEAR(some.kl_behaviour_sum, 0, 1e-5);
  EXPECT_EQ(some.kl_tokens, some.tokens - 2);
  EXPECT_EQ(some.loss, every.loss);  // it is trained on all the same
}

TEST(Trainer, AnEmptySequenceTakesNoPart) {
  auto with = sequences();
  with.push_back({"e", {1, 2, 3}, {}});
  const auto without = sequences();
  auto targets = all_targets(without);
  const auto one = trainer()->actor_step(without, targets, 1e-3);
  targets.emplace_back();
  const auto two = trainer()->actor_step(with, targets, 1e-3);
  EXPECT_NEAR(one.loss, two.loss, 1e-12);
  EXPECT_EQ(one.tokens, two.tokens);
}

TEST(Trainer, ANonFiniteLossSkipsTheStepAndNamesItsPlace) {
  auto t = trainer();
  const auto before = flat(*t);
  const auto all = sequences();
  auto targets = all_targets(all);
  targets[2].advantages[0] = std::numeric_limits<double>::infinity();
  const auto f = t->actor_step(all, targets, 1e-3);
  EXPECT_TRUE(f.skipped);
  EXPECT_THAT(f.skip_detail, HasSubstr("c at token"));
  EXPECT_EQ(flat(*t), before);
  targets[2].weights[0] = 0;  // masked out: it reaches nothing
  EXPECT_FALSE(t->actor_step(all, targets, 1e-3).skipped);
}

TEST(Trainer, WithLearningRateZeroNothingMoves) {
  auto t = trainer();
  const auto before = flat(*t);
  const auto all = sequences();
  t->actor_step(all, all_targets(all), 0.0);
  EXPECT_EQ(flat(*t), before);
}

TEST(Trainer, TheCriticBeginsAtZeroAndLearnsItsTargets) {
  auto t = trainer();
  const auto all = sequences();
  t->reset_critic();
  for (const auto& v : t->values(all))
    for (const double x : v) EXPECT_EQ(x, 0.0);
  std::vector<CriticTargets> targets;
  for (const auto& s : all) {
    const auto n = s.positions.size();
    targets.push_back({std::vector<double>(n, s.rollout_id < "c" ? 2.0 : -1.0),
                       {},
                       std::vector<double>(n, 0.25 / static_cast<double>(n))});
  }
  double first = 0, last = 0;
  for (int i = 0; i < 60; ++i) {
    last = t->critic_step(all, targets, 1e-3).loss;
    if (i == 0) first = last;
  }
  EXPECT_LT(last, 0.1 * first);
}

TEST(Trainer, GoesOnFromWhatItSavedAsIfItHadNotStopped) {
  const test::TempDirectory directory;
  const auto all = sequences();
  const auto targets = all_targets(all);
  auto one = trainer();
  one->actor_step(all, targets, 1e-3);
  ASSERT_TRUE(one->save(directory.path()));
  one->actor_step(all, targets, 1e-3);
  auto two = trainer();
  const auto loaded = two->load(directory.path());
  ASSERT_TRUE(loaded) << loaded.error().message;
  two->actor_step(all, targets, 1e-3);
  EXPECT_EQ(flat(*one), flat(*two));
}

TEST(Trainer, RefusesACheckpointOfAnotherModelAndChangesNothing) {
  const test::TempDirectory directory;
  ASSERT_TRUE(trainer()->save(directory.path()));
  auto o = options();
  o.vocabulary = 96;
  auto other = trainer(o);
  const auto before = flat(*other);
  const auto loaded = other->load(directory.path());
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, TrainerError::Code::wrong_model);
  EXPECT_EQ(flat(*other), before);
}

TEST(Trainer, ImitationRaisesTheLikelihood) {
  auto t = trainer();
  const auto all = sequences();
  std::vector<std::vector<double>> weights;
  std::size_t tokens = 0;
  for (const auto& s : all) tokens += s.positions.size();
  for (const auto& s : all)
    weights.emplace_back(s.positions.size(), 1.0 / static_cast<double>(tokens));
  double first = 0, last = 0;
  for (int i = 0; i < 30; ++i) {
    last = t->imitation_step(all, weights, 3e-3).loss;
    if (i == 0) first = last;
  }
  EXPECT_LT(last, 0.3 * first);
}

}  // namespace
}  // namespace swage::learner
