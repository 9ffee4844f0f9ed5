#include "learner/app/trajectory_store.hpp"

#include <algorithm>
#include <utility>

#include "common/asio/blocking.hpp"
#include "common/base/check.hpp"
#include "common/base/files.hpp"
#include "common/log/log.hpp"
#include "learner/adapters/log_records.hpp"
#include "learner/adapters/trajectory_message.hpp"

namespace swage::learner {
namespace {

v1::SubmitAnswer answer(const v1::Trajectory& message, v1::SubmitCode code, std::string reason = {},
                        std::string detail = {}) {
  v1::SubmitAnswer out;
  out.set_rollout_id(message.rollout_id());
  out.set_attempt(message.attempt());
  out.set_code(code);
  out.set_reason(std::move(reason));
  out.set_detail(std::move(detail));
  return out;
}

/// Removes a name from a set at the end of a scope.
class Marked {
 public:
  Marked(std::set<std::string>& names, std::string name) : names_(names), name_(std::move(name)) {
    names_.insert(name_);
  }
  ~Marked() { names_.erase(name_); }
  Marked(const Marked&) = delete;
  Marked& operator=(const Marked&) = delete;

 private:
  std::set<std::string>& names_;
  std::string name_;
};

}  // namespace

TrajectoryStore::TrajectoryStore(std::filesystem::path directory, Parts parts,
                                 std::unique_ptr<SegmentedLog> log)
    : directory_(std::move(directory)),
      parts_(std::move(parts)),
      log_(std::move(log)),
      commit_(parts_.strand, *log_, parts_.file_thread, parts_.clock),
      changed_(parts_.strand) {}

Result<std::unique_ptr<TrajectoryStore>, LogError> TrajectoryStore::open(
    std::filesystem::path directory, Parts parts) {
  auto log = SegmentedLog::open(directory / "log");
  if (!log) return tl::unexpected(log.error());
  if ((*log)->cut_bytes() > 0)
    log_warning("cut the broken tail of the trajectory log", {{"bytes", (*log)->cut_bytes()}});
  std::unique_ptr<TrajectoryStore> store(
      new TrajectoryStore(std::move(directory), std::move(parts), std::move(*log)));
  if (auto replayed = store->replay(); !replayed) return tl::unexpected(replayed.error());
  return store;
}

Result<void, LogError> TrajectoryStore::replay() {
  for (const auto& frame : log_->frames()) {
    const auto record = log_->read(frame.seq);
    if (!record) return tl::unexpected(record.error());
    bool good = false;
    switch (frame.type) {
      case FrameType::trajectory:
        if (const auto t = trajectory_from_bytes(record->payload, parts_.verdict_key)) {
          ledger_.add(ledger_entry(*t, admitted_use(*t), frame.seq));
          good = true;
        }
        break;
      case FrameType::version:
        if (const auto v = version_record_from(record->payload)) ledger_.add(*v), good = true;
        break;
      case FrameType::batch:
        if (const auto b = batch_record_from(record->payload)) ledger_.add(*b), good = true;
        break;
      case FrameType::abandon:
        if (const auto a = abandon_record_from(record->payload)) ledger_.add(*a), good = true;
        break;
    }
    if (!good)
      return tl::unexpected(LogError{LogErrc::damaged, "frame " + std::to_string(frame.seq) +
                                                           " in " + (directory_ / "log").string() +
                                                           " is not what its type says"});
    next_seq_ = frame.seq + 1;
  }
  return {};
}

Task<> TrajectoryStore::run(StopSource& stop) { return commit_.run(stop); }

Task<Result<std::uint64_t, LogError>> TrajectoryStore::append(FrameType type, std::string payload) {
  LogRecord record{type, std::move(payload)};
  auto seq = co_await commit_.append(std::move(record));
  if (seq || seq.error().code == LogErrc::disk_full) {
    if (disk_full_ != !seq) changed_.notify();
    disk_full_ = !seq;
  }
  co_return seq;
}

Task<v1::SubmitAnswer> TrajectoryStore::submit(v1::Trajectory message) {
  if (ledger_.has(message.rollout_id())) {
    ++duplicates_;
    parts_.metrics.submitted("duplicate");
    changed_.notify();
    co_return answer(message, v1::SUBMIT_CODE_DUPLICATE, "duplicate");
  }
  if (in_flight_.contains(message.rollout_id())) {
    parts_.metrics.submitted("retry");
    co_return answer(message, v1::SUBMIT_CODE_RETRY, "in_flight",
                     "another submission of this rollout is being written");
  }
  const Marked marked(in_flight_, message.rollout_id());
  auto trajectory = trajectory_from(message, parts_.verdict_key);
  const auto admission = admit(trajectory, parts_.rules, ledger_.versions());
  if (admission.rejection) {
    const std::string reason(to_string(admission.rejection->code));
    ++rejected_;
    parts_.metrics.submitted("rejected");
    log_warning("rejected a trajectory", {{"rollout_id", message.rollout_id()},
                                          {"reason", reason},
                                          {"detail", admission.rejection->detail}});
    co_await keep_rejected(message.rollout_id() + "-" + std::to_string(message.attempt()),
                           message.SerializeAsString(),
                           reason + ": " + admission.rejection->detail + "\n");
    changed_.notify();
    co_return answer(message, v1::SUBMIT_CODE_REJECTED, reason, admission.rejection->detail);
  }
  co_return co_await take(std::move(message), std::move(trajectory));
}

Task<v1::SubmitAnswer> TrajectoryStore::take(v1::Trajectory message, Trajectory trajectory) {
  const auto seq = co_await append(FrameType::trajectory, message.SerializeAsString());
  if (!seq) {
    parts_.metrics.submitted("retry");
    const bool full = seq.error().code == LogErrc::disk_full;
    co_return answer(message, v1::SUBMIT_CODE_RETRY, full ? "disk_full" : "shutting_down",
                     seq.error().message);
  }
  parts_.metrics.submitted("accepted");
  ledger_.add(ledger_entry(trajectory, admitted_use(trajectory), *seq));
  next_seq_ = *seq + 1;
  changed_.notify();
  co_return answer(message, v1::SUBMIT_CODE_ACCEPTED);
}

Task<> TrajectoryStore::keep_rejected(std::string name, std::string bytes, std::string reason) {
  // Names come from outside: only what a rollout id may hold becomes a file.
  for (char& c : name)
    if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-') c = '_';
  const auto folder = directory_ / "rejected";
  name.resize(std::min<std::size_t>(name.size(), 120));
  auto write = [folder, name, bytes = std::move(bytes), reason = std::move(reason)] {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    return write_file_durably(folder / (name + ".pb"), bytes) &&
           write_file_durably(folder / (name + ".txt"), reason);
  };
  if (!co_await run_blocking(parts_.file_thread, std::move(write)))
    log_warning("could not keep a rejected trajectory", {{"name", name}});
}

Task<Result<std::vector<Trajectory>, LogError>> TrajectoryStore::load(
    std::vector<std::string> ids) {
  std::vector<std::uint64_t> numbers;
  for (const auto& id : ids) {
    const auto* entry = ledger_.find(id);
    check(entry != nullptr, "a trajectory that is asked for is in the log");
    numbers.push_back(entry->seq);
  }
  auto read = [this, numbers]() -> Result<std::vector<Trajectory>, LogError> {
    std::vector<Trajectory> out;
    for (const auto seq : numbers) {
      const auto record = log_->read(seq);
      if (!record) return tl::unexpected(record.error());
      auto t = trajectory_from_bytes(record->payload, parts_.verdict_key);
      if (!t) return tl::unexpected(LogError{LogErrc::damaged, "not a trajectory"});
      out.push_back(std::move(*t));
    }
    return out;
  };
  co_return co_await run_blocking(parts_.file_thread, std::move(read));
}

Task<std::optional<std::string>> TrajectoryStore::bytes_of(std::string rollout_id) {
  const auto* entry = ledger_.find(rollout_id);
  if (entry == nullptr) co_return std::nullopt;
  auto read = [this, seq = entry->seq] { return log_->read(seq); };
  auto record = co_await run_blocking(parts_.file_thread, std::move(read));
  if (!record) co_return std::nullopt;
  co_return std::move(record->payload);
}

Task<Result<void, LogError>> TrajectoryStore::record(VersionRecord record) {
  const auto seq = co_await append(FrameType::version, to_payload(record));
  if (!seq) co_return tl::unexpected(seq.error());
  ledger_.add(record);
  next_seq_ = *seq + 1;
  co_return Result<void, LogError>{};
}

Task<Result<void, LogError>> TrajectoryStore::record(BatchRecord record) {
  const auto seq = co_await append(FrameType::batch, to_payload(record));
  if (!seq) co_return tl::unexpected(seq.error());
  ledger_.add(record);
  next_seq_ = *seq + 1;
  co_return Result<void, LogError>{};
}

}  // namespace swage::learner
