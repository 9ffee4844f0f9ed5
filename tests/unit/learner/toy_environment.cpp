#include "tests/unit/learner/toy_environment.hpp"

#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "common/base/check.hpp"
#include "learner/core/ppo.hpp"
#include "learner/torch/decoder_trainer.hpp"
#include "policy/model/decoder.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::learner {
namespace {

constexpr std::uint32_t kVocabulary = 10;
constexpr std::uint32_t kPrompt = 0, kAsk = 1, kFirstSymbol = 2, kBlank = 5;
constexpr std::size_t kBatch = 32;

Learning toy_learning() {
  auto l = preset_settings(Preset::one_machine).learning;
  l.epochs = 2;
  return l;
}

std::unique_ptr<Trainer> toy_trainer(std::uint64_t seed, const test::TempDirectory& directory) {
  auto config = policy::tiny_config(kVocabulary);
  config.layers = 1;
  config.hidden = 32;
  config.heads = 2;
  config.kv_heads = 1;
  config.head_dim = 16;
  config.ffn = 64;
  config.context = 64;
  const auto saved = policy::save(policy::Decoder::scratch(config, seed), directory.path());
  check(saved.has_value(), "the toy model can be written");
  auto options = trainer_options(preset_settings(Preset::one_machine));
  options.model_source = directory.path().string();
  options.vocabulary = kVocabulary;
  options.temperature = 1.0;
  auto made = make_decoder_trainer(options);
  check(made.has_value(), made ? "" : made.error().message);
  return std::move(*made);
}

/// Samples the next token of each prefix: every candidate is scored as a sequence of its own.
struct Sampled {
  std::uint32_t id;
  float logp;
};
std::vector<Sampled> sample(Trainer& trainer,
                            const std::vector<std::vector<std::uint32_t>>& prefixes,
                            std::mt19937& random) {
  std::vector<Sequence> candidates;
  for (const auto& prefix : prefixes)
    for (std::uint32_t id = 0; id < kVocabulary; ++id) {
      Sequence s{"x", prefix, {static_cast<std::uint32_t>(prefix.size())}};
      s.ids.push_back(id);
      candidates.push_back(std::move(s));
    }
  const auto logps = trainer.logprobs(candidates);
  std::vector<Sampled> out;
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    double left = std::uniform_real_distribution<double>()(random);
    std::uint32_t chosen = kVocabulary - 1;
    for (std::uint32_t id = 0; id < kVocabulary; ++id) {
      left -= std::exp(logps[i * kVocabulary + id][0]);
      if (left < 0) {
        chosen = id;
        break;
      }
    }
    out.push_back({chosen, static_cast<float>(logps[i * kVocabulary + chosen][0])});
  }
  return out;
}

std::vector<Trajectory> roll_out(Trainer& trainer, std::mt19937& random) {
  std::vector<std::vector<std::uint32_t>> prefixes(kBatch, {kPrompt, kPrompt});
  std::vector<std::uint32_t> shown(kBatch);
  const auto first = sample(trainer, prefixes, random);
  for (std::size_t i = 0; i < kBatch; ++i) {
    shown[i] =
        first[i].id == kAsk ? kFirstSymbol + static_cast<std::uint32_t>(random() % 3) : kBlank;
    prefixes[i].insert(prefixes[i].end(), {first[i].id, shown[i], kPrompt});
  }
  const auto second = sample(trainer, prefixes, random);
  std::vector<Trajectory> out;
  for (std::size_t i = 0; i < kBatch; ++i) {
    Trajectory t;
    t.rollout_id = "toy-" + std::to_string(i);
    t.ids = prefixes[i];
    t.ids.push_back(second[i].id);
    t.mask = {0, 0, 1, 0, 0, 1};
    const float none = std::numeric_limits<float>::quiet_NaN();
    t.behaviour_logprobs = {none, none, first[i].logp, none, none, second[i].logp};
    t.rewards = {{5, second[i].id == shown[i] && shown[i] != kBlank ? 1.0 : 0.0, "terminal"}};
    out.push_back(std::move(t));
  }
  return out;
}

double mean_reward(const std::vector<Trajectory>& batch) {
  double sum = 0;
  for (const auto& t : batch) sum += t.rewards[0].value;
  return sum / static_cast<double>(batch.size());
}

void learn_from(Trainer& trainer, const std::vector<Trajectory>& batch, const Learning& learning) {
  std::vector<const Trajectory*> all;
  std::vector<Sequence> sequences;
  for (const auto& t : batch) {
    all.push_back(&t);
    sequences.push_back(sequence_of(t));
  }
  const auto targets = ppo_targets(all, trainer.values(sequences), learning, 64);
  for (std::uint32_t epoch = 0; epoch < learning.epochs; ++epoch) {
    trainer.critic_step(sequences, targets.critic, 3e-3);
    trainer.actor_step(sequences, targets.actor, 1e-3);
  }
}

}  // namespace

ToyOutcome learn_toy(std::uint64_t seed, int steps) {
  const test::TempDirectory directory;
  const auto trainer = toy_trainer(seed, directory);
  const auto learning = toy_learning();
  std::mt19937 random(static_cast<unsigned>(seed) * 7919U + 1U);
  ToyOutcome outcome;
  for (int i = 0; i < 4; ++i) outcome.first += mean_reward(roll_out(*trainer, random)) / 4;
  for (int step = 0; step < steps; ++step)
    learn_from(*trainer, roll_out(*trainer, random), learning);
  for (int i = 0; i < 4; ++i) outcome.last += mean_reward(roll_out(*trainer, random)) / 4;
  return outcome;
}

}  // namespace swage::learner
