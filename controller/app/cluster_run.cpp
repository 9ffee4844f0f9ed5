#include "controller/app/cluster_run.hpp"

#include <ctime>
#include <utility>

#include "common/base/exit_code.hpp"
#include "common/base/json_text.hpp"
#include "common/log/log.hpp"
#include "controller/adapters/out_directory.hpp"
#include "controller/adapters/pod_parts.hpp"
#include "controller/adapters/pod_ports.hpp"
#include "controller/adapters/schema.hpp"
#include "controller/app/pool_keeper.hpp"
#include "policy/tokenizer/tokenizer.hpp"

namespace swage::controller {
namespace {

using namespace std::chrono_literals;
using k8s::Json;

constexpr const char* kFinalizer = "swage.dev/run-cleanup";
constexpr const char* kResume = "swage.dev/resume";
constexpr auto kSaveEvery = 5s;

const k8s::ResourceType kServices{"", "v1", "services", "Service"};
const k8s::ResourceType kConfigMaps{"", "v1", "configmaps", "ConfigMap"};
const k8s::ResourceType kClaims{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"};

/// Ids as text, when the model's tokenizer lies in this image; else as numbers.
DecodeIds decoder_of(const std::string& model, const std::filesystem::path& share) {
  std::shared_ptr<policy::Tokenizer> tokenizer;
  if (model == "scratch:tiny") {
    auto loaded = policy::Tokenizer::load(share / "tiny" / "tokenizer.json");
    if (loaded) tokenizer = std::make_shared<policy::Tokenizer>(std::move(*loaded));
  }
  return [tokenizer](auto ids) {
    if (tokenizer) return tokenizer->decode(ids);
    std::string out;
    for (const auto id : ids) out += (out.empty() ? "" : " ") + std::to_string(id);
    return out;
  };
}

std::int64_t unix_ms_of(const std::string& rfc3339_text) {
  std::tm parts{};
  if (::strptime(rfc3339_text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) == nullptr) return 0;
  return static_cast<std::int64_t>(::timegm(&parts)) * 1000;
}

}  // namespace

ClusterRun::ClusterRun(ClusterWorld& world, Json object)
    : world_(world),
      object_(world, kTrainingRuns, kFinalizer, std::move(object)),
      owner_(object_.owner()),
      writer_(world, kTrainingRuns, object_.json()),
      moved_(world.strand),
      gate_(world.strand, stop_) {
  const auto address = grpc_at(pod_dns_name(owner_, owner_.name + "-learner-0"));
  trajectories_ = make_trajectory_client(
      address, world.secrets.token,
      decoder_of(object_.json().value("/spec/model/source"_json_pointer, std::string()),
                 world.share));
}

bool ClusterRun::finished() const {
  const auto phase = object_.json().value("/status/phase"_json_pointer, std::string());
  return phase == "Succeeded" || phase == "Failed";
}

Task<> ClusterRun::run(StopSource& stop) {
  if (!deleting()) co_await object_.add_finalizer(stop);
  if (!finished() && !deleting() && co_await prepare(stop)) co_await execute(stop);
  while (!stop.stopping() && !deleting()) co_await moved_.wait(stop);  // it stands as a record
  if (!stop.stopping()) co_await clean_up(stop);
  stop_.request(StopReason::requested);
  co_await gate_.join();
}

/// Until nothing is in the way: true. False: deleted, or `stop`.
Task<bool> ClusterRun::prepare(StopSource& stop) {
  while (!stop.stopping() && !deleting()) {
    refused_ = parse();
    pool_trouble_ = refused_ ? std::nullopt : find_pool();
    if (!refused_ && !pool_trouble_) refused_ = co_await apply_objects(stop);
    if (!refused_ && !pool_trouble_) co_return true;
    std::ignore = co_await writer_.write(waiting_status(), stop);
    co_await world_.next_turn(stop);
  }
  co_return false;
}

/// The specification and its tasks.
std::optional<Trouble> ClusterRun::parse() {
  file_.notices.clear();
  auto run = read_object(object_.json(), read_training_run, file_.notices);
  parsed_ = run.has_value();
  if (!parsed_) return Trouble{"Invalid", run.error()};
  file_.run = std::move(*run);
  if (file_.run.learner.replicas > 1)
    return Trouble{"NotBuilt", "spec.learner.replicas above 1 is not built yet; set it to 1"};
  auto tasks = load_tasks(file_.run, world_.share / "tasks");
  if (!tasks) return Trouble{"TasksUnusable", tasks.error().text()};
  tasks_ = std::move(*tasks);
  return std::nullopt;
}

std::optional<Trouble> ClusterRun::find_pool() {
  const auto& ref = file_.run.evaluation.pool;
  const auto name = ref.space + "/" + ref.name;
  auto* keeper = world_.pool(ref.space, ref.name);
  if (keeper == nullptr)
    return Trouble{"PoolNotFound",
                   "there is no ProfilingPool " + name +
                       " in the namespaces that this operator looks after; make it, or correct "
                       "spec.evaluation.poolRef"};
  if (!keeper->pool()) return keeper->trouble();
  if (keeper->pool()->device_kind != file_.run.device_kind)
    return Trouble{"DeviceMismatch", std::string("spec.deviceKind is ") +
                                         device_kind_name(file_.run.device_kind) +
                                         ", but that of ProfilingPool " + name + " is " +
                                         device_kind_name(keeper->pool()->device_kind) +
                                         "; name a pool of the same kind"};
  file_.pool = *keeper->pool();
  return std::nullopt;
}

std::optional<Trouble> ClusterRun::pool_trouble() const {
  const auto& ref = file_.run.evaluation.pool;
  const auto* keeper = world_.pool(ref.space, ref.name);
  if (keeper == nullptr)
    return Trouble{"PoolNotFound", "ProfilingPool " + ref.space + "/" + ref.name + " is gone"};
  return keeper->trouble();
}

const std::optional<lease::PoolSnapshot>& ClusterRun::pool_snapshot() const {
  static const std::optional<lease::PoolSnapshot> kNone;
  const auto& ref = file_.run.evaluation.pool;
  const auto* keeper = world_.pool(ref.space, ref.name);
  return keeper == nullptr ? kNone : keeper->snapshot();
}

Task<std::optional<Trouble>> ClusterRun::apply_objects(StopSource& stop) {
  layout_ =
      std::make_unique<ClusterLayout>(world_.settings, file_, owner_, world_.secrets.redis_address);
  auto trouble = co_await apply_object(world_, kServices, service_object(owner_), stop);
  if (trouble) co_return trouble;
  co_return co_await apply_object(world_, kClaims, layout_->claim_object(), stop);
}

Task<> ClusterRun::execute(StopSource& stop) {
  auto totals = co_await earlier_totals(stop);
  if (!totals) co_return;
  KubePodSettings settings;
  settings.name_space = owner_.name_space;
  settings.selector = layout_->selector();
  settings.manifest = [this](const PodSpec& spec) { return layout_->manifest(spec); };
  backend_ = make_kube_pod_backend(world_.strand, world_.client, std::move(settings));
  EngineSetup setup{file_,
                    owner_.uid,
                    *layout_,
                    tasks_,
                    world_.secrets.token,
                    world_.secrets.sandbox_key,
                    std::move(*totals)};
  const auto started = object_.json().value("/status/startTime"_json_pointer, std::string());
  setup.started_unix_ms = started.empty() ? unix_ms() : unix_ms_of(started);
  setup.evaluation_rollouts = world_.settings.evaluation_rollouts;
  setup.takes_over = true;
  setup.network_isolated = world_.settings.require_network_policy;
  setup.sandbox_create_rate = world_.settings.sandbox_create_rate;
  setup.log_of = [](const std::string&) { return std::string(); };  // the detail has its end
  engine_ = std::make_unique<RunEngine>(world_.strand, world_.clock, std::move(setup), *backend_,
                                        *this, world_.metrics);
  world_.dispatch.open(engine_->dispatch_desk());
  world_.control.open(engine_->control_desk());
  co_await engine_->start();
  while (!stop.stopping() && !deleting() && !engine_->over() && !engine_->broken()) {
    obey_object();
    std::ignore = co_await writer_.write(status(), stop);
    co_await save_totals(stop);
    co_await moved_.wait(stop);
  }
  if (engine_->broken()) engine_->fail("the controller has a fault; see its log", exit_code::kBug);
  if (!stop.stopping()) co_await end(stop);
  world_.dispatch.close(engine_->dispatch_desk());
  world_.control.close(engine_->control_desk());
  co_await engine_->leave();
  co_await backend_->close();
}

/// The pods go; what the run has shown stays.
Task<> ClusterRun::end(StopSource& stop) {
  const bool well = engine_->succeeded();
  if (!engine_->failure().empty())
    log_error("the run has failed", {{"run", owner_.name}, {"why", engine_->failure()}});
  co_await engine_->end_in_order();
  if (deleting()) co_return;
  engine_->completed(unix_ms());
  if (well) co_await until_done(world_, [&] { return save_summary(stop); }, stop);
  co_await until_done(world_, [&] { return writer_.write(status(), stop); }, stop);
}

Task<bool> ClusterRun::save_summary(StopSource& stop) {
  auto summary = data_object("summary", "summary.json",
                             summary_json(engine_->facts(), engine_->wall_seconds()));
  co_return !co_await apply_object(world_, kConfigMaps, std::move(summary), stop);
}

/// The object is deleted: the lease queue forgets the run, then the finalizer goes.
Task<> ClusterRun::clean_up(StopSource& stop) {
  const auto& ref = file_.run.evaluation.pool;
  if (parsed_)
    if (auto* keeper = world_.pool(ref.space, ref.name))
      std::ignore = co_await keeper->forget_run(owner_.uid);
  co_await object_.take_finalizer(stop);
}

/// What people change while it runs.
void ClusterRun::obey_object() {
  const bool suspended = object_.json().value("/spec/suspend"_json_pointer, false);
  if (suspended != std::exchange(file_.run.suspend, suspended)) engine_->suspend(suspended);
  const auto& annotations = k8s::meta_of(object_.json()).annotations;
  const auto wanted = annotations.find(kResume);
  const auto& pause = engine_->dispatcher().status().pause;
  if (wanted != annotations.end() && pause && pause->id == wanted->second)
    std::ignore = engine_->resume(pause->id);
}

Json ClusterRun::status() const { return status_json(engine_->facts()); }

Json ClusterRun::waiting_status() const {
  RunSituation situation;
  situation.refused = refused_;
  situation.pool = pool_trouble_;
  situation.network_isolated = world_.settings.require_network_policy;
  Json out{{"phase", "Pending"}, {"leaderEpoch", world_.epoch}};
  out["conditions"] = Json::array();
  for (const auto& one : run_conditions(situation))
    out["conditions"].push_back(condition_json(one));
  return out;
}

/// What earlier leaders counted. Nothing: `stop`, or deleted.
Task<std::optional<RunTotals>> ClusterRun::earlier_totals(StopSource& stop) {
  std::optional<RunTotals> out;
  while (!stop.stopping() && !deleting()) {
    out = co_await read_totals(stop);
    if (out) break;
    co_await world_.next_turn(stop);
  }
  const auto started = object_.json().value("/status/startTime"_json_pointer, std::string());
  if (out && !started.empty())  // also while nobody led
    out->wall_seconds = static_cast<double>(unix_ms() - unix_ms_of(started)) / 1000;
  co_return out;
}

/// Nothing: the server does not say, for now.
Task<std::optional<RunTotals>> ClusterRun::read_totals(StopSource& stop) {
  const k8s::Target target{kConfigMaps, owner_.name_space, owner_.name + "-totals"};
  const auto map = co_await world_.client.get(target, world_.soon(), stop);
  if (!map) {
    if (map.error().code == k8s::Errc::not_found) co_return RunTotals{};
    log_warning("cannot read what was counted", {{"why", map.error().message}});
    co_return std::nullopt;
  }
  const auto value =
      Json::parse(map->value("/data/totals.json"_json_pointer, std::string("{}")), nullptr, false);
  if (!value.is_object()) co_return RunTotals{};
  auto out = totals_from(value);
  // The learner lives on under another leader, and counts on.
  out.duplicates_told = value.value("duplicates_told", std::uint64_t{0});
  co_return out;
}

Task<> ClusterRun::save_totals(StopSource& stop) {
  if (saved_at_ && world_.clock.now() - *saved_at_ < kSaveEvery) co_return;
  const auto totals = engine_->totals();
  auto value = to_json(totals);
  value.erase("wall_seconds");  // the status has the start
  value["duplicates_told"] = totals.duplicates_told;
  if (value == saved_) co_return;
  saved_at_ = world_.clock.now();
  const auto trouble =
      co_await apply_object(world_, kConfigMaps, data_object("totals", "totals.json", value), stop);
  if (trouble)
    log_warning("cannot write what was counted", {{"why", trouble->message}});
  else
    saved_ = std::move(value);
}

/// A ConfigMap of the run with one file; it goes with the run.
Json ClusterRun::data_object(const std::string& suffix, const std::string& file,
                             const Json& value) const {
  Json map;
  map["metadata"] = {{"name", owner_.name + "-" + suffix},
                     {"namespace", owner_.name_space},
                     {"ownerReferences", Json::array({owner_reference(owner_)})}};
  map["data"][file] = json_text(value, 2) + "\n";
  return map;
}

void ClusterRun::say(const std::string& type, const nlohmann::json& data) {
  auto with = data;
  with["run"] = owner_.name;
  with["namespace"] = owner_.name_space;
  world_.say(type, with);
}

nlohmann::json ClusterRun::run_view() const {
  if (engine_) return run_json(engine_->facts());
  return {{"name", owner_.name},
          {"namespace", owner_.name_space},
          {"uid", owner_.uid},
          {"spec", object_.json().value("spec", Json::object())},
          {"status", object_.json().value("status", Json::object())},
          {"pods", Json::array()}};
}

nlohmann::json ClusterRun::live_rollouts() const {
  return engine_ ? live_json(engine_->dispatcher()) : Json::array();
}

RunApi::Resumed ClusterRun::resume(const std::string& pause_id) {
  if (!engine_) return Resumed::not_paused;
  if (pause_id.empty() && file_.run.suspend)
    std::ignore = gate_.spawn("resume " + owner_.name, patch_suspend(false));
  return engine_->resume(pause_id);
}

void ClusterRun::suspend() {
  std::ignore = gate_.spawn("suspend " + owner_.name, patch_suspend(true));
}

/// The object says what is wanted; the change comes back through the watch.
Task<> ClusterRun::patch_suspend(bool suspended) {
  const Json patch{{"spec", {{"suspend", suspended}}}};
  const auto done =
      co_await world_.client.merge_patch(object_.target(), "", patch, world_.soon(), stop_);
  if (!done) log_warning("cannot change spec.suspend", {{"why", done.error().message}});
}

}  // namespace swage::controller
