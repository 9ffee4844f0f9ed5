#include "controller/adapters/out_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/base/digest.hpp"
#include "common/base/json_text.hpp"
#include "controller/adapters/run_file.hpp"

namespace swage::controller {
namespace {

namespace fs = std::filesystem;

constexpr auto kEvaluationRollouts = learner::Settings{}.evaluation_rollouts;

OutError disk(const FileError& error) {
  const bool full = error.code == std::errc::no_space_on_device;
  return {OutErrc::unwritable,
          error.message + (full ? "; free some space, then resume the run"
                                : "; choose another --out or change its permissions"),
          full};
}

/// Fields that a run keeps for life, as name and value.
std::vector<std::pair<std::string, std::string>> fixed_fields(const TrainingRun& run) {
  return {{"metadata.name", run.name},
          {"metadata.namespace", run.space},
          {"spec.deviceKind", device_kind_name(run.device_kind)},
          {"spec.seed", std::to_string(run.seed)},
          {"spec.model.source", run.model_source}};
}

std::optional<OutError> why_not_the_same(const fs::path& out, const TrainingRun& run) {
  const auto before = read_run_file(out / "run.yaml");
  if (!before)
    return OutError{OutErrc::not_a_run, "run.yaml of the run is damaged: " + before.error().text()};
  const auto old_fields = fixed_fields(before->run);
  const auto new_fields = fixed_fields(run);
  for (std::size_t i = 0; i < old_fields.size(); ++i)
    if (old_fields[i].second != new_fields[i].second)
      return OutError{OutErrc::another_run,
                      out.string() + " holds a run whose " + old_fields[i].first + " is `" +
                          old_fields[i].second + "`, not `" + new_fields[i].second +
                          "`; it cannot change: give another --out, or resume with " +
                          (out / "run.yaml").string()};
  return std::nullopt;
}

/// Takes the lock of an existing directory. Errors: a live controller holds it.
Result<int, OutError> lock(const fs::path& out) {
  const auto file = out / ".lock";
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0)
    return tl::unexpected(disk({std::error_code(errno, std::generic_category()),
                                "cannot open " + file.string() + ": " + std::strerror(errno)}));
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    ::close(descriptor);
    return tl::unexpected(
        OutError{OutErrc::in_use, out.string() + " is used by a live controller; stop it first "
                                                 "(Ctrl-C), or give another --out"});
  }
  return descriptor;
}

/// What of run.json a run keeps for life.
struct Identity {
  std::string run_uid;
  std::uint64_t evaluation_rollouts = 0;
};

/// run: run.json, if it could be read. wanted: what the command line says. Errors: damaged, or the
/// run was started with another number of evaluation rollouts.
Result<Identity, OutError> identity_of(const fs::path& root,
                                       const std::optional<nlohmann::json>& run,
                                       std::optional<std::uint64_t> wanted) {
  const auto fields = run && run->is_object() ? *run : nlohmann::json::object();
  const auto uid = fields.find("run_uid");
  const auto stored = fields.find("evaluation_rollouts");
  if (uid == fields.end() || !uid->is_string() ||
      (stored != fields.end() && !stored->is_number_unsigned()))
    return tl::unexpected(OutError{
        OutErrc::not_a_run, "run.json in " + root.string() + " is damaged: start a new run"});
  if (stored == fields.end()) return Identity{*uid, wanted.value_or(kEvaluationRollouts)};
  const auto rollouts = stored->get<std::uint64_t>();
  if (wanted && *wanted != rollouts)
    return tl::unexpected(
        OutError{OutErrc::another_run,
                 root.string() + " holds a run with --evaluation-rollouts " +
                     std::to_string(rollouts) + ", not " + std::to_string(*wanted) +
                     "; it cannot change: leave the option out, or give another --out"});
  return Identity{*uid, rollouts};
}

bool has_other_files(const fs::path& out) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(out, failed))
    if (entry.path().filename() != ".lock") return true;
  return false;
}

}  // namespace

Result<std::unique_ptr<OutDirectory>, OutError> OutDirectory::open(
    const fs::path& out, const TrainingRun& run, const std::string& run_text, bool resume,
    std::optional<std::uint64_t> evaluation_rollouts) {
  std::error_code failed;
  const auto root = fs::weakly_canonical(fs::absolute(out), failed);
  const bool has_run = fs::exists(root / "run.json", failed);
  if (resume && !has_run)
    return tl::unexpected(OutError{OutErrc::not_a_run, root.string() +
                                                           " holds no run to resume; leave out "
                                                           "--resume to start one"});
  const bool absent = !fs::is_directory(root, failed);
  if (absent && !fs::create_directories(root, failed))
    return tl::unexpected(disk({failed, "cannot make " + root.string() + ": " + failed.message()}));
  const auto locked = lock(root);
  if (!locked) return tl::unexpected(locked.error());
  std::unique_ptr<OutDirectory> self(
      new OutDirectory(root, *locked, evaluation_rollouts.value_or(kEvaluationRollouts)));
  if (resume) {
    if (auto why = why_not_the_same(root, run)) return tl::unexpected(std::move(*why));
    auto old = identity_of(root, self->read_json("run.json"), evaluation_rollouts);
    if (!old) return tl::unexpected(std::move(old.error()));
    self->run_uid_ = std::move(old->run_uid);
    self->evaluation_rollouts_ = old->evaluation_rollouts;
  } else {
    if (has_run)
      return tl::unexpected(OutError{OutErrc::another_run,
                                     root.string() + " holds a run already; give --resume to go on "
                                                     "with it, or another --out"});
    if (has_other_files(root))
      return tl::unexpected(
          OutError{OutErrc::not_a_run,
                   root.string() + " is not empty and holds no run; give another --out"});
    self->run_uid_ = to_hex(random_bytes(16));
    self->fresh_ = true;
    self->made_ = absent;
  }
  for (const auto* name : {"logs", "secrets", "pods", "learner", "checkpoints"}) {
    fs::create_directories(root / name, failed);
    if (failed)
      return tl::unexpected(
          disk({failed, "cannot make " + (root / name).string() + ": " + failed.message()}));
  }
  fs::permissions(root / "secrets", fs::perms::owner_all, failed);
  const auto copied = write_file_durably(root / "run.yaml", run_text);
  if (!copied) return tl::unexpected(disk(copied.error()));
  return self;
}

OutDirectory::~OutDirectory() {
  std::error_code ignored;
  if (fresh_ && !fs::exists(root_ / "run.json", ignored)) {
    // The directory was empty before: all that lies in it is ours, and nobody could resume it.
    std::vector<fs::path> ours;
    for (const auto& entry : fs::directory_iterator(root_, ignored)) ours.push_back(entry.path());
    for (const auto& path : ours) fs::remove_all(path, ignored);
    if (made_) fs::remove(root_, ignored);
  }
  ::close(lock_);
}

Result<fs::path, OutError> OutDirectory::secret(const std::string& name) {
  auto file = root_ / "secrets" / name;
  std::error_code failed;
  if (!fs::exists(file, failed)) {
    const auto written = write_file_durably(file, to_hex(random_bytes(32)), 0600);
    if (!written) return tl::unexpected(disk(written.error()));
  }
  return file;
}

std::optional<std::uint64_t> OutDirectory::raise_epoch(std::uint64_t at_least) {
  std::uint64_t stored = 0;
  if (const auto text = read_file(root_ / "epoch"))
    stored = std::strtoull(text->c_str(), nullptr, 10);
  const auto next = std::max(stored, at_least) + 1;
  if (!write_file_durably(root_ / "epoch", std::to_string(next) + "\n")) return std::nullopt;
  return next;
}

Result<void, OutError> OutDirectory::write_json(const std::string& name,
                                                const nlohmann::json& value) {
  const auto written = write_file_durably(root_ / name, json_text(value, 2) + "\n");
  if (!written) return tl::unexpected(disk(written.error()));
  return {};
}

std::optional<nlohmann::json> OutDirectory::read_json(const std::string& name) const {
  const auto text = read_file(root_ / name);
  if (!text) return std::nullopt;
  auto value = nlohmann::json::parse(*text, nullptr, false);
  if (value.is_discarded()) return std::nullopt;
  return value;
}

RunTotals OutDirectory::totals() const {
  const auto value = read_json("totals.json");
  return value ? totals_from(*value) : RunTotals{};
}

Result<void, OutError> OutDirectory::save_totals(const RunTotals& totals) {
  return write_json("totals.json", to_json(totals));
}

nlohmann::json to_json(const RunTotals& totals) {
  auto stages = nlohmann::json::array();
  for (const auto& stage : totals.stages)
    stages.push_back({{"stage", stage_name(stage.stage)},
                      {"started_unix_ms", stage.started_unix_ms},
                      {"ended_unix_ms", stage.ended_unix_ms},
                      {"steps", stage.steps}});
  return {{"evaluations", totals.evaluations},
          {"verdicts", totals.verdicts},
          {"compile_count", totals.compile_count},
          {"compile_units", totals.compile_units},
          {"compile_cache_hits", totals.compile_cache_hits},
          {"infrastructure_failures", totals.infrastructure_failures},
          {"reissued", totals.reissued},
          {"groups_replaced", totals.groups_replaced},
          {"duplicates_refused", totals.duplicates_refused},
          {"wall_seconds", totals.wall_seconds},
          {"isolation", totals.isolation},
          {"trust", totals.trust},
          {"stages", std::move(stages)}};
}

RunTotals totals_from(const nlohmann::json& value) {
  RunTotals out;
  out.evaluations = value.value("evaluations", 0UL);
  out.verdicts = value.value("verdicts", out.verdicts);
  out.compile_count = value.value("compile_count", 0UL);
  out.compile_units = value.value("compile_units", 0UL);
  out.compile_cache_hits = value.value("compile_cache_hits", 0UL);
  out.infrastructure_failures = value.value("infrastructure_failures", 0UL);
  out.reissued = value.value("reissued", 0UL);
  out.groups_replaced = value.value("groups_replaced", 0UL);
  out.duplicates_refused = value.value("duplicates_refused", 0UL);
  out.wall_seconds = value.value("wall_seconds", 0.0);
  out.isolation = value.value("isolation", "");
  out.trust = value.value("trust", "");
  for (const auto& stage : value.value("stages", nlohmann::json::array()))
    out.stages.push_back(
        {stage_named(stage.value("stage", "")), stage.value("started_unix_ms", std::int64_t{0}),
         stage.value("ended_unix_ms", std::int64_t{0}), stage.value("steps", 0UL)});
  return out;
}

}  // namespace swage::controller
