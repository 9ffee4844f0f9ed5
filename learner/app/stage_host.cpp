#include "learner/app/stage_host.hpp"

#include <stdexcept>

#include "common/log/log.hpp"
#include "learner/adapters/run_state_json.hpp"
#include "learner/app/wait.hpp"

namespace swage::learner {
namespace {

constexpr std::chrono::seconds kPublishPatience{15};

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

TrainerError to_trainer_error(const LogError& error) {
  switch (error.code) {
    case LogErrc::disk_full:
      return {TrainerError::Code::disk_full, error.message};
    case LogErrc::io:
      return {TrainerError::Code::io, error.message};
    case LogErrc::damaged:
    case LogErrc::lost_sync:
      return {TrainerError::Code::damaged, error.message};
  }
  return {TrainerError::Code::damaged, error.message};
}

StageHost::StageHost(Parts parts, RunState state)
    : parts_(std::move(parts)),
      state_(std::move(state)),
      guard_(
          {parts_.settings.learning.critic_unfit_guard, parts_.settings.learning.low_entropy_alert},
          state_.guard),
      resumed_(parts_.strand) {}

Task<bool> StageHost::running(StopSource& stop) {
  while (pause_ && !stop.stopping()) co_await resumed_.wait(stop);
  co_return !stop.stopping();
}

void StageHost::pause(const std::string& reason, const std::string& message) {
  pause_ = Pause{slot_name(state_.slot) + "-" + std::to_string(state_.step) + "-" +
                     std::to_string(++pauses_) + "-" + std::to_string(unix_ms()),
                 reason, message};
  log_warning("paused", {{"reason", reason}, {"message", message}, {"pause_id", pause_->id}});
  changed();
}

void StageHost::resume(const std::string& pause_id) {
  if (!pause_ || pause_->id != pause_id) return;
  log_info("resumed", {{"reason", pause_->reason}});
  pause_.reset();
  resumed_.notify();
  changed();
}

Task<bool> StageHost::durable(std::string what, Write write, StopSource& stop) {
  while (true) {
    const auto wrote = co_await write();
    if (wrote) {
      set_condition({"DiskFull", false, "SpaceAvailable", ""});
      co_return true;
    }
    if (stop.stopping()) co_return false;
    if (wrote.error().code != TrainerError::Code::disk_full)
      throw std::runtime_error(what + ": " + wrote.error().message);
    set_condition({"DiskFull", true, "NoSpace", wrote.error().message});
    pause("DiskFull", "no space left for " + what + ": " + wrote.error().message +
                          ". Free some space, then resume the run.");
    if (!co_await running(stop)) co_return false;
  }
}

Task<bool> StageHost::publish(std::uint64_t step, StopSource& stop) {
  const auto began = parts_.clock.now();
  const auto version = parts_.store.ledger().newest_version() + 1;
  auto take = [this] { return parts_.trainer.snapshot(); };
  auto snapshot = co_await compute(std::move(take));
  VersionRecord frame{version, state_.slot, step};
  if (!co_await record(frame, stop)) co_return false;
  co_await send(std::move(snapshot), version, step, kPublishPatience, stop);
  parts_.metrics.phase("publish", seconds(parts_.clock.now() - began));
  co_return true;
}

Task<bool> StageHost::publish_restored(StopSource& stop) {
  const auto newest = parts_.store.ledger().newest_version();
  auto version = state_.weight_version;
  if (version == 0 || version != newest) {
    version = newest + 1;
    VersionRecord frame{version, state_.slot, state_.step};
    if (!co_await record(frame, stop)) co_return false;
  }
  auto take = [this] { return parts_.trainer.snapshot(); };
  auto snapshot = co_await compute(std::move(take));
  // The controller may not even have told us of a server yet: nobody is waited for.
  co_await send(std::move(snapshot), version, state_.step, Duration::zero(), stop);
  co_return true;
}

Task<> StageHost::send(std::shared_ptr<const WeightSnapshot> snapshot, std::uint64_t version,
                       std::uint64_t step, Duration patience, StopSource& stop) {
  PublicationIdentity identity{parts_.identity.run_uid, version, step,
                               parts_.identity.config_digest};
  auto make = [snapshot, identity] { return make_publication(snapshot, identity); };
  auto publication = co_await compute(std::move(make));
  co_await parts_.publisher.publish(std::move(publication), patience, stop);
  state_.weight_version = version;
  parts_.metrics.weight_version(version);
  changed();
}

Task<bool> StageHost::checkpoint(bool boundary, StopSource& stop) {
  const auto began = parts_.clock.now();
  state_.guard = guard_.state();
  state_.csv_bytes = parts_.csv.length();
  state_.log_next = parts_.store.next_seq();
  const bool healthy = !guard_.any_alert();
  struct Writing {
    static Task<Result<void, TrainerError>> of(StageHost& host, bool at_boundary, bool is_healthy) {
      auto job = [&host, state = host.state_, at_boundary, is_healthy] {
        return host.write_checkpoint(state, at_boundary, is_healthy);
      };
      co_return co_await host.compute(std::move(job));
    }
  };
  Write write = [this, boundary, healthy] { return Writing::of(*this, boundary, healthy); };
  if (!co_await durable("a checkpoint", std::move(write), stop)) co_return false;
  parts_.metrics.phase("checkpoint", seconds(parts_.clock.now() - began));
  co_return true;
}

Result<void, TrainerError> StageHost::write_checkpoint(const RunState& state, bool boundary,
                                                       bool healthy) {
  const auto fill = [this](const std::filesystem::path& directory) -> Result<void, TrainerError> {
    if (auto saved = parts_.trainer.save(directory); !saved) return saved;
    std::error_code error;
    std::filesystem::copy_file(parts_.tokenizer, directory / "policy" / "tokenizer.json", error);
    if (error)
      return tl::unexpected(TrainerError{error == std::errc::no_space_on_device
                                             ? TrainerError::Code::disk_full
                                             : TrainerError::Code::io,
                                         "cannot copy the tokenizer: " + error.message()});
    return {};
  };
  const auto name = slot_name(state.slot) + "-" + std::to_string(state.step);
  return parts_.checkpoints.write(name, to_text(state, parts_.identity), boundary, healthy, fill);
}

Task<bool> StageHost::row(StepRow row, StopSource& stop) {
  row.unix_ms = unix_ms();
  parts_.metrics.stepped(row);
  parts_.metrics.stage(state_.slot, row.step);
  struct Adding {
    static Task<Result<void, TrainerError>> to(StepsCsv& csv, StepRow copy) {
      co_return csv.append(copy);
    }
  };
  Write write = [this, row] { return Adding::to(parts_.csv, row); };
  co_return co_await durable("steps.csv", std::move(write), stop);
}

void StageHost::set_training(bool on) {
  training_ = on;
  changed();
}

void StageHost::set_progress(std::string text) {
  progress_ = std::move(text);
  changed();
}

void StageHost::set_target(std::uint64_t target, std::uint64_t steps_total) {
  target_ = target;
  steps_total_ = steps_total;
  changed();
}

void StageHost::set_condition(Condition condition) {
  const auto known = conditions_.find(condition.type);
  if (known == conditions_.end() && !condition.status) return;
  if (known != conditions_.end() && known->second == condition) return;
  conditions_[condition.type] = std::move(condition);
  changed();
}

void StageHost::cancel_groups(std::vector<std::uint64_t> groups) {
  cancel_groups_ = std::move(groups);
  changed();
}

void StageHost::changed() {
  parts_.metrics.stage(state_.slot, state_.step);
  if (on_change_) on_change_();
}

Status StageHost::status() const {
  const auto& ledger = parts_.store.ledger();
  const auto& learning = parts_.settings.learning;
  const auto& slot = state_.slot;
  Status s;
  s.stage = slot.stage;
  s.round = slot.round;
  s.stage_serial = state_.serial;
  s.step = state_.step;
  s.steps_total = steps_total_;
  s.weight_version = state_.weight_version;
  s.target = target_;
  s.accepted = ledger.accepted(slot);
  if (is_ppo(slot.stage)) {
    s.ready = ledger.ready(slot, state_.step).size();
    s.consumed = state_.step * learning.batch;
    s.group_size = learning.group_size;
  } else {
    s.ready = s.accepted;
  }
  s.staleness = learning.staleness;
  s.batch = learning.batch;
  s.next_group = ledger.next_group(slot);
  s.pause = pause_;
  for (const auto& [type, condition] : conditions_) s.conditions.push_back(condition);
  if (parts_.store.disk_full() && !conditions_.contains("DiskFull"))
    s.conditions.push_back({"DiskFull", true, "NoSpace", "trajectories cannot be logged"});
  s.cancel_groups = cancel_groups_;
  s.training = training_;
  s.reward_mean = state_.reward_mean;
  s.reward_after_rft = state_.reward_after_rft;
  s.reward_final = state_.reward_final;
  s.trajectories = ledger.accepted();
  s.duplicates = parts_.store.duplicates();
  s.rejected = parts_.store.rejected();
  s.progress = progress_;
  return s;
}

}  // namespace swage::learner
