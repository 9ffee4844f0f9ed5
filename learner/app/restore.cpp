#include "learner/app/restore.hpp"

#include <algorithm>
#include <future>

#include "common/log/log.hpp"
#include "learner/adapters/run_state_json.hpp"

namespace swage::learner {
namespace {

tl::unexpected<TrainerError> failed(TrainerError::Code code, std::string message) {
  return tl::unexpected(TrainerError{code, std::move(message)});
}

std::string difference(const RunIdentity& saved, const RunIdentity& ours) {
  if (saved.config_digest != ours.config_digest)
    return "its model has config digest " + saved.config_digest + ", this run's has " +
           ours.config_digest;
  if (saved.tokenizer_digest != ours.tokenizer_digest)
    return "its tokenizer has digest " + saved.tokenizer_digest + ", this run's has " +
           ours.tokenizer_digest;
  if (saved.run_uid != ours.run_uid)
    return "it belongs to run " + saved.run_uid + ", this is run " + ours.run_uid;
  return {};
}

/// One checkpoint: verified, ours, loaded.
Result<RunState, TrainerError> take(const CheckpointInfo& info, const RunIdentity& identity,
                                    asio::thread_pool& trainer_thread, Trainer& trainer) {
  if (auto sound = CheckpointStore::verify(info.directory); !sound)
    return tl::unexpected(sound.error());
  const auto text = CheckpointStore::state_of(info.directory);
  if (!text) return tl::unexpected(text.error());
  const auto saved = saved_state_from(*text);
  if (!saved)
    return failed(TrainerError::Code::damaged,
                  (info.directory / "state.json").string() + ": " + saved.error());
  if (const auto why = difference(saved->identity, identity); !why.empty())
    return failed(TrainerError::Code::wrong_model,
                  "the checkpoint " + info.directory.string() + " is of another run: " + why +
                      "; choose another output directory, or the model it was made with");
  std::promise<Result<void, TrainerError>> loaded;
  asio::post(trainer_thread, [&] { loaded.set_value(trainer.load(info.directory)); });
  if (auto result = loaded.get_future().get(); !result) return tl::unexpected(result.error());
  return saved->state;
}

}  // namespace

Result<Restored, TrainerError> restore(const LearnerConfig& config, const RunIdentity& identity,
                                       asio::thread_pool& trainer_thread, Trainer& trainer) {
  auto checkpoints = CheckpointStore::open(config.out / "checkpoints");
  if (!checkpoints) return tl::unexpected(checkpoints.error());
  const auto plan = stage_plan(config.settings);
  RunState state;
  state.slot = plan.front();
  std::optional<std::string> damaged;
  bool loaded = false;
  const auto known = checkpoints->list();
  for (const auto& info : known) {
    auto taken = take(info, identity, trainer_thread, trainer);
    if (taken) {
      state = std::move(*taken);
      loaded = true;
      log_info("continuing from a checkpoint", {{"checkpoint", info.directory.string()}});
      break;
    }
    if (taken.error().code != TrainerError::Code::damaged) return tl::unexpected(taken.error());
    log_error("damaged checkpoint", {{"reason", taken.error().message}});
    if (!damaged) damaged = taken.error().message;
  }
  if (!loaded && (!known.empty() || checkpoints->unreadable() > 0))
    return failed(TrainerError::Code::damaged,
                  "no checkpoint under " + (config.out / "checkpoints").string() +
                      " verifies; restore one from a copy, or start a new run" +
                      (damaged ? " (" + *damaged + ")" : ""));
  if (!damaged && checkpoints->unreadable() > 0) damaged = "a checkpoint has no readable manifest";
  if (std::find(plan.begin(), plan.end(), state.slot) == plan.end())
    return failed(TrainerError::Code::wrong_model,
                  "the checkpoint stands in stage " + slot_name(state.slot) +
                      ", which stages.* now switches off; switch it on again");
  auto csv = StepsCsv::open(config.out / "steps.csv", state.csv_bytes);
  if (!csv) return tl::unexpected(csv.error());
  return Restored{std::move(*checkpoints), std::move(*csv), std::move(state), damaged};
}

}  // namespace swage::learner
