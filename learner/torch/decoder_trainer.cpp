#include "learner/torch/decoder_trainer.hpp"

#include <torch/torch.h>

#include <cmath>
#include <sstream>

#include "common/base/check.hpp"
#include "common/base/files.hpp"
#include "learner/core/packing.hpp"
#include "learner/torch/adam_w.hpp"
#include "learner/torch/losses.hpp"
#include "policy/model/decoder.hpp"

namespace swage::learner {
namespace {

namespace fs = std::filesystem;

/// Sequences of one micro-batch, packed, and where their policy tokens are predicted.
struct MicroBatch {
  std::vector<std::size_t> members;  ///< indices into the caller's sequences
  policy::PackedBatch packed;
  torch::Tensor rows;     ///< i64 [n]: hidden state that predicts each policy token
  torch::Tensor targets;  ///< i64 [n]: the token
};

std::vector<MicroBatch> micro_batches(std::span<const Sequence> sequences, std::uint64_t budget) {
  std::vector<PackItem> items;
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    if (sequences[i].positions.empty()) continue;
    items.push_back({sequences[i].rollout_id, sequences[i].ids.size()});
    kept.push_back(i);
  }
  std::vector<MicroBatch> out;
  for (const auto& bin : pack(items, budget)) {
    MicroBatch batch;
    std::vector<std::vector<std::uint32_t>> ids;
    std::vector<std::int64_t> rows, targets;
    std::int64_t offset = 0;
    for (const auto item : bin) {
      const auto& sequence = sequences[kept[item]];
      batch.members.push_back(kept[item]);
      ids.push_back(sequence.ids);
      for (const auto position : sequence.positions) {
        rows.push_back(offset + static_cast<std::int64_t>(position) - 1);
        targets.push_back(static_cast<std::int64_t>(sequence.ids[position]));
      }
      offset += static_cast<std::int64_t>(sequence.ids.size());
    }
    batch.packed = policy::pack(ids);
    batch.rows = torch::tensor(rows, torch::kLong);
    batch.targets = torch::tensor(targets, torch::kLong);
    out.push_back(std::move(batch));
  }
  return out;
}

/// One number for each policy token of a micro-batch, in its order.
template <class Part>
torch::Tensor gathered(const MicroBatch& batch, Part part) {
  std::vector<float> out;
  for (const auto member : batch.members)
    for (const double value : part(member)) out.push_back(static_cast<float>(value));
  return torch::tensor(out, torch::kFloat);
}

/// The reverse of `gathered`: [n] back to each member's vector.
void scattered(const MicroBatch& batch, const torch::Tensor& values,
               std::span<const Sequence> sequences, std::vector<std::vector<double>>& out) {
  const auto host = values.to(torch::kDouble).contiguous();
  const double* at = host.data_ptr<double>();
  for (const auto member : batch.members) {
    const auto n = sequences[member].positions.size();
    out[member].assign(at, at + n);
    at += n;
  }
}

std::string first_not_finite(const MicroBatch& batch, const torch::Tensor& loss,
                             std::span<const Sequence> sequences) {
  const auto finite = torch::isfinite(loss).contiguous();
  const bool* at = finite.data_ptr<bool>();
  for (const auto member : batch.members)
    for (const auto position : sequences[member].positions)
      if (!*at++) return sequences[member].rollout_id + " at token " + std::to_string(position);
  return {};
}

tl::unexpected<TrainerError> failed(TrainerError::Code code, std::string message) {
  return tl::unexpected(TrainerError{code, std::move(message)});
}

TrainerError::Code code_of(policy::ModelErrc code, const fs::path& directory) {
  switch (code) {
    case policy::ModelErrc::unreadable:
    case policy::ModelErrc::malformed:
      return TrainerError::Code::damaged;
    case policy::ModelErrc::unsupported:
    case policy::ModelErrc::mismatch:
      return TrainerError::Code::wrong_model;
    case policy::ModelErrc::unwritable:
      break;
  }
  constexpr std::uintmax_t kLittle = 64U << 20U;
  std::error_code error;
  const auto space = fs::space(directory, error);
  return !error && space.available < kLittle ? TrainerError::Code::disk_full
                                             : TrainerError::Code::io;
}

class DecoderTrainer final : public Trainer {
 public:
  DecoderTrainer(TrainerOptions options, policy::Decoder decoder)
      : options_(std::move(options)),
        policy_(std::move(decoder)),
        critic_(policy::ValueModel::from_policy(policy_)),
        actor_optimiser_(prepared(policy_), options_.weight_decay),
        critic_optimiser_(prepared(critic_), options_.weight_decay) {}

  std::vector<std::vector<double>> values(std::span<const Sequence> sequences) override {
    const torch::NoGradGuard no_grad;
    std::vector<std::vector<double>> out(sequences.size());
    for (const auto& batch : micro_batches(sequences, options_.micro_batch_tokens))
      scattered(batch, critic_.values(batch.packed).index_select(0, batch.rows), sequences, out);
    return out;
  }

  std::vector<std::vector<double>> logprobs(std::span<const Sequence> sequences) override {
    const torch::NoGradGuard no_grad;
    std::vector<std::vector<double>> out(sequences.size());
    for (const auto& batch : micro_batches(sequences, options_.micro_batch_tokens))
      scattered(batch, logprobs_of(batch, options_.temperature, nullptr), sequences, out);
    return out;
  }

  StepFigures imitation_step(std::span<const Sequence> sequences,
                             std::span<const std::vector<double>> weights,
                             double learning_rate) override {
    StepFigures figures;
    for (const auto& batch : micro_batches(sequences, options_.micro_batch_tokens)) {
      torch::Tensor entropy;
      const auto loss = -logprobs_of(batch, 1.0, &entropy);
      if (!accumulate(batch, loss, gathered(batch, [&](auto i) { return weights[i]; }), sequences,
                      figures))
        return skipped(actor_optimiser_, figures);
      figures.entropy_sum += entropy.sum().item<double>();
    }
    return finished(actor_optimiser_, learning_rate, figures);
  }

  StepFigures actor_step(std::span<const Sequence> sequences, std::span<const ActorTargets> targets,
                         double learning_rate) override {
    StepFigures figures;
    for (const auto& batch : micro_batches(sequences, options_.micro_batch_tokens)) {
      torch::Tensor entropy;
      const auto logp = logprobs_of(batch, options_.temperature, &entropy);
      const auto old = gathered(batch, [&](auto i) { return targets[i].old_logprobs; });
      const auto weights = gathered(batch, [&](auto i) { return targets[i].weights; });
      const auto given = gathered(batch, [&](auto i) { return targets[i].advantages; });
      // Selected before any arithmetic: the gradient of a masked infinity would be 0 * inf.
      const auto advantages = torch::where(weights != 0, given, torch::zeros_like(given));
      const auto loss = policy_loss(logp, old, advantages, options_.clip);
      if (!accumulate(batch, loss.loss, weights, sequences, figures))
        return skipped(actor_optimiser_, figures);
      const auto current = gathered(batch, [&](auto i) { return current_of(targets[i]); });
      add_figures(loss, entropy, current != 0, figures);
    }
    return finished(actor_optimiser_, learning_rate, figures);
  }

  StepFigures critic_step(std::span<const Sequence> sequences,
                          std::span<const CriticTargets> targets, double learning_rate) override {
    StepFigures figures;
    const bool clipped = !targets.empty() && !targets[0].old_values.empty();
    for (const auto& batch : micro_batches(sequences, options_.micro_batch_tokens)) {
      const auto values = critic_.values(batch.packed).index_select(0, batch.rows);
      const auto returns = gathered(batch, [&](auto i) { return targets[i].returns; });
      const auto old = clipped ? gathered(batch, [&](auto i) { return targets[i].old_values; })
                               : torch::Tensor();
      const auto loss = value_loss(values, returns, old, options_.clip.value);
      if (!accumulate(batch, loss, gathered(batch, [&](auto i) { return targets[i].weights; }),
                      sequences, figures))
        return skipped(critic_optimiser_, figures);
    }
    return finished(critic_optimiser_, learning_rate, figures);
  }

  void reset_critic() override {
    critic_ = policy::ValueModel::from_policy(policy_);
    critic_optimiser_ = AdamW(prepared(critic_), options_.weight_decay);
  }

  void reset_actor_optimiser() override {
    actor_optimiser_ = AdamW(prepared(policy_), options_.weight_decay);
  }

  std::shared_ptr<const WeightSnapshot> snapshot() override {
    const torch::NoGradGuard no_grad;
    return std::make_shared<const WeightSnapshot>(
        WeightSnapshot{policy::weight_layout(policy_.config()), policy::flat_weights(policy_)});
  }

  Result<void, TrainerError> save(const fs::path& directory) override;
  Result<void, TrainerError> load(const fs::path& directory) override;

  std::string config_digest() const override { return policy::config_digest(policy_.config()); }
  std::uint32_t vocabulary() const override {
    return static_cast<std::uint32_t>(policy_.config().vocabulary);
  }
  std::uint64_t parameters() const override {
    std::uint64_t count = 0;
    for (const auto& tensor : policy_.tensors())
      count += static_cast<std::uint64_t>(tensor.tensor.numel());
    return count;
  }

 private:
  template <class Model>
  static std::vector<policy::Parameter> prepared(Model& model) {
    model.require_gradients(true);
    return model.parameters();
  }

  torch::Tensor logprobs_of(const MicroBatch& batch, double temperature, torch::Tensor* entropy) {
    const auto rows = policy_.hidden(batch.packed).index_select(0, batch.rows);
    return token_logprobs(rows, policy_.output_matrix(), batch.targets, temperature, entropy);
  }

  /// Adds the gradient of Σ a·L. False: a loss with weight is not finite, and nothing was added.
  static bool accumulate(const MicroBatch& batch, const torch::Tensor& loss,
                         const torch::Tensor& weights, std::span<const Sequence> sequences,
                         StepFigures& figures) {
    const auto used = torch::where(weights != 0, loss, torch::zeros_like(loss));
    const auto total = (used * weights).sum();
    const double value = total.item<double>();
    if (!std::isfinite(value)) {
      figures.skip_detail = first_not_finite(batch, used.detach(), sequences);
      return false;
    }
    total.backward();
    figures.loss += value;
    figures.tokens += static_cast<std::uint64_t>(loss.size(0));
    return true;
  }

  static std::vector<std::uint8_t> current_of(const ActorTargets& targets) {
    return targets.current.empty() ? std::vector<std::uint8_t>(targets.weights.size(), 1)
                                   : targets.current;
  }

  static void add_figures(const PolicyLoss& loss, const torch::Tensor& entropy,
                          const torch::Tensor& current, StepFigures& figures) {
    const auto measured = current & ~loss.missing;
    const auto k3 = torch::where(measured, loss.k3, torch::zeros_like(loss.k3));
    const auto sums = torch::stack({entropy.sum(), k3.sum(), loss.ratio.sum(),
                                    loss.ratio.square().sum(), loss.clipped_low.sum(),
                                    loss.clipped_high.sum(), loss.missing.sum(), measured.sum()})
                          .to(torch::kDouble)
                          .contiguous();
    const double* at = sums.data_ptr<double>();
    figures.entropy_sum += at[0];
    figures.kl_behaviour_sum += at[1];
    figures.ratio_sum += at[2];
    figures.ratio_square_sum += at[3];
    figures.clipped_low += static_cast<std::uint64_t>(at[4]);
    figures.clipped_high += static_cast<std::uint64_t>(at[5]);
    figures.missing_logprobs += static_cast<std::uint64_t>(at[6]);
    figures.kl_tokens += static_cast<std::uint64_t>(at[7]);
  }

  static StepFigures skipped(AdamW& optimiser, StepFigures figures) {
    optimiser.zero_grad();
    figures.skipped = true;
    return figures;
  }

  StepFigures finished(AdamW& optimiser, double learning_rate, StepFigures figures) const {
    if (figures.tokens == 0) return skipped(optimiser, figures);
    figures.grad_norm = optimiser.grad_norm();
    if (!std::isfinite(figures.grad_norm)) {
      figures.skip_detail = "the gradient's norm is not finite";
      return skipped(optimiser, figures);
    }
    optimiser.step(learning_rate, figures.grad_norm, options_.max_grad_norm);
    return figures;
  }

  TrainerOptions options_;
  policy::Decoder policy_;
  policy::ValueModel critic_;
  AdamW actor_optimiser_, critic_optimiser_;
};

Result<void, TrainerError> DecoderTrainer::save(const fs::path& directory) {
  const torch::NoGradGuard no_grad;
  if (auto saved = policy::save(policy_, directory / "policy"); !saved)
    return failed(code_of(saved.error().code, directory), saved.error().message);
  if (auto saved = policy::save(critic_, directory / "critic"); !saved)
    return failed(code_of(saved.error().code, directory), saved.error().message);
  for (const auto& [name, optimiser] :
       {std::pair<const char*, const AdamW*>{"actor-optimiser.pt", &actor_optimiser_},
        {"critic-optimiser.pt", &critic_optimiser_}}) {
    std::ostringstream bytes;
    torch::save(optimiser->state(), bytes);
    if (auto wrote = write_file_durably(directory / name, bytes.str()); !wrote) {
      const bool full = wrote.error().code == std::errc::no_space_on_device;
      return failed(full ? TrainerError::Code::disk_full : TrainerError::Code::io,
                    wrote.error().message);
    }
  }
  return {};
}

Result<void, TrainerError> DecoderTrainer::load(const fs::path& directory) {
  auto policy = policy::Decoder::load(directory / "policy");
  if (!policy) return failed(code_of(policy.error().code, directory), policy.error().message);
  const auto digest = policy::config_digest(policy->config());
  if (digest != config_digest())
    return failed(TrainerError::Code::wrong_model,
                  directory.string() + " holds a model with config digest " + digest +
                      ", this run's is " + config_digest());
  auto critic = policy::ValueModel::load(directory / "critic");
  if (!critic) return failed(code_of(critic.error().code, directory), critic.error().message);
  AdamW actor_optimiser(prepared(*policy), options_.weight_decay);
  AdamW critic_optimiser(prepared(*critic), options_.weight_decay);
  for (const auto& [name, optimiser] :
       {std::pair<const char*, AdamW*>{"actor-optimiser.pt", &actor_optimiser},
        {"critic-optimiser.pt", &critic_optimiser}}) {
    const auto bytes = read_file(directory / name);
    if (!bytes) return failed(TrainerError::Code::damaged, bytes.error().message);
    std::vector<torch::Tensor> state;
    try {
      std::istringstream in(*bytes);
      torch::load(state, in);
    } catch (const c10::Error& e) {
      return failed(TrainerError::Code::damaged,
                    (directory / name).string() + ": " + e.what_without_backtrace());
    }
    if (!optimiser->set_state(state))
      return failed(TrainerError::Code::damaged,
                    (directory / name).string() + " does not fit the model");
  }
  policy_ = std::move(*policy);
  critic_ = std::move(*critic);
  actor_optimiser_ = std::move(actor_optimiser);
  critic_optimiser_ = std::move(critic_optimiser);
  return {};
}

}  // namespace

TrainerOptions trainer_options(const Settings& settings) {
  const auto& l = settings.learning;
  TrainerOptions options;
  options.deterministic = l.deterministic;
  options.temperature = l.temperature;
  options.clip = {l.clip_low, l.clip_high, l.dual_clip, l.value_clip};
  options.weight_decay = l.weight_decay;
  options.max_grad_norm = l.max_grad_norm;
  options.micro_batch_tokens = l.micro_batch_tokens;
  return options;
}

Result<std::unique_ptr<Trainer>, TrainerError> make_decoder_trainer(const TrainerOptions& options) {
  torch::set_num_threads(options.threads);
  if (options.deterministic) at::globalContext().setDeterministicAlgorithms(true, false);
  auto decoder = policy::make_decoder(options.model_source, options.vocabulary, options.seed);
  if (!decoder) return failed(code_of(decoder.error().code, "."), decoder.error().message);
  return std::make_unique<DecoderTrainer>(options, std::move(*decoder));
}

}  // namespace swage::learner
