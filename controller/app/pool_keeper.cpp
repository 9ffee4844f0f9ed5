#include "controller/app/pool_keeper.hpp"

#include <algorithm>
#include <utility>

#include "common/base/digest.hpp"
#include "common/log/log.hpp"
#include "controller/adapters/pod_parts.hpp"
#include "controller/adapters/schema.hpp"
#include "controller/app/run_view.hpp"

namespace swage::controller {
namespace {

using namespace std::chrono_literals;
using k8s::Json;

constexpr const char* kFinalizer = "swage.dev/pool-drain";
/// A leader's epoch in the lease queue has room below the next leader's for so many changes of the
/// server.
constexpr unsigned kEpochBits = 20;

const k8s::ResourceType kServices{"", "v1", "services", "Service"};

}  // namespace

PoolKeeper::PoolKeeper(ClusterWorld& world, Json object)
    : world_(world),
      object_(world, kProfilingPools, kFinalizer, std::move(object)),
      owner_(object_.owner()),
      writer_(world, kProfilingPools, object_.json()),
      gate_(world.strand, stop_) {
  parse();
}

void PoolKeeper::parse() {
  std::vector<std::string> notices;
  auto pool = read_object(object_.json(), read_profiling_pool, notices);
  invalid_.reset();
  if (pool)
    pool_ = std::move(*pool);
  else
    invalid_ = Trouble{"Invalid", pool.error()};
}

void PoolKeeper::changed(const Json* object) {
  object_.changed(object);
  if (object != nullptr) parse();
}

Task<> PoolKeeper::run(StopSource& stop) {
  if (!object_.deleting()) co_await object_.add_finalizer(stop);
  KubePodSettings settings;
  settings.name_space = owner_.name_space;
  settings.selector = std::string(kPoolUidLabel) + "=" + owner_.uid;
  settings.manifest = [this](const PodSpec& spec) {
    return gpu_pod(world_.settings, *pool_, owner_, world_.secrets.redis_address, spec);
  };
  backend_ = make_kube_pod_backend(world_.strand, world_.client, std::move(settings));
  co_await serve(stop);
  if (object_.deleting() && !stop.stopping()) {
    co_await end_all();
    co_await object_.take_finalizer(stop);
  }
  stop_.request(StopReason::requested);
  co_await gate_.join();
  co_await backend_->close();
}

/// Until it is deleted, gone, or `stop`.
Task<> PoolKeeper::serve(StopSource& stop) {
  for (const auto& pod : co_await backend_->adopt(stop)) pods_[pod.name] = {pod.uid, {}, {}, false};
  std::ignore = gate_.spawn("pods of " + owner_.name, pod_loop());
  while (!stop.stopping() && !stop_.stopping() && !object_.deleting() && !object_.gone()) {
    if (pool_ && !lead_) start_lead();
    if (pool_) co_await turn(stop);
    std::ignore = co_await writer_.write(status(), stop);
    co_await world_.next_turn(stop);
  }
}

void PoolKeeper::start_lead() {
  const lease::QueueConfig queue{world_.secrets.redis_address, world_.secrets.redis_password,
                                 pool_->full_name()};
  lead_ = std::make_unique<PoolLead>(
      queue, *pool_, [this](std::uint64_t at_least) { return raise_epoch(at_least); },
      world_.clock);
  std::ignore = gate_.spawn("leader of " + owner_.name, lead_->run([] {}, stop_));
}

Task<> PoolKeeper::turn(StopSource& stop) {
  if (!applied_) {
    refused_ = co_await apply_object(world_, kServices, service_object(owner_), stop);
    applied_ = !refused_;
  }
  co_await forget_gone();
  const auto actions = reconciler_.tick(*pool_, gpus(), demand(), world_.clock.now());
  for (int i = 0; i < actions.create; ++i) {
    PodSpec spec{owner_.name + "-" + to_hex(random_bytes(4)), to_hex(random_bytes(16)),
                 Component::gpu_worker, ""};
    pods_[spec.name] = {spec.uid, PodPhase::pending, {}, false};
    const auto name = "start " + spec.name;
    std::ignore = gate_.spawn(name, create(std::move(spec)));
  }
  for (const auto& name : actions.remove) {
    auto& pod = pods_.at(name);
    if (std::exchange(pod.ending, true)) continue;
    log_info("a GPU pod leaves", {{"pod", name}, {"pool", owner_.name}});
    std::ignore = gate_.spawn("end " + name, remove(name, pod.uid));
  }
}

Task<> PoolKeeper::create(PodSpec spec) {
  const auto name = spec.name;
  const auto made = co_await backend_->create(std::move(spec));
  if (made) {
    if (applied_) refused_.reset();
    co_return;
  }
  refused_ = Trouble{made.error().reason, name + ": " + made.error().message};
  log_warning("a GPU pod could not be made", {{"pod", name}, {"why", made.error().message}});
  co_await world_.clock.sleep_for(10s, stop_);  // it counts until then: no storm of tries
  pods_.erase(name);
}

Task<> PoolKeeper::remove(std::string name, std::string uid) {
  const auto grace = std::chrono::seconds((pool_ ? pool_->drain_seconds : 0) + kBeyondDrainSeconds);
  std::ignore = co_await backend_->remove(std::move(name), std::move(uid), grace);
}

Task<> PoolKeeper::pod_loop() {
  while (const auto event = co_await backend_->next_event(stop_)) {
    const auto found = pods_.find(event->name);
    if (found == pods_.end() || found->second.uid != event->uid) continue;
    found->second.phase = event->phase;
    found->second.trouble = {event->reason, event->name + ": " + event->detail};
    if (event->phase == PodPhase::succeeded || event->phase == PodPhase::failed) {
      if (!found->second.ending)
        log_warning("a GPU pod ended", {{"pod", event->name}, {"how", event->detail}});
      pods_.erase(found);
      to_forget_.insert(event->name);
    }
  }
}

/// What is left of pods in the lease queue.
Task<> PoolKeeper::forget_gone() {
  if (lead_ && lead_->snapshot())
    for (const auto& gpu : lead_->snapshot()->gpus)  // of pods that went while nobody led
      if (gpu.state == "absent" && !pods_.contains(gpu.gpu.str())) to_forget_.insert(gpu.gpu.str());
  const auto names = to_forget_;
  for (const auto& name : names) {
    const bool done = lead_ && co_await lead_->forget_gpu(name);
    if (done) to_forget_.erase(name);
  }
}

Task<> PoolKeeper::end_all() {
  StopSource unused;
  Gate ending(world_.strand, unused);
  for (auto& [name, pod] : pods_)
    if (!std::exchange(pod.ending, true))
      std::ignore = ending.spawn("end " + name, remove(name, pod.uid));
  co_await ending.join();
  for (const auto& [name, pod] : pods_) to_forget_.insert(name);
  co_await forget_gone();
}

Task<bool> PoolKeeper::forget_run(std::string run_uid) {
  if (!lead_) co_return false;
  co_return co_await lead_->forget_run(std::move(run_uid));
}

Task<std::optional<std::uint64_t>> PoolKeeper::raise_epoch(std::uint64_t at_least) {
  const auto base = world_.epoch << kEpochBits;
  const auto next = std::max({epoch_ + 1, at_least + 1, base + 1});
  if (next >= base + (std::uint64_t{1} << kEpochBits)) {
    log_error(
        "the lease queue has seen a higher epoch than this leader can give: was the Lease "
        "deleted? Raise its annotation swage.dev/epoch",
        {{"pool", owner_.name}, {"seen", at_least}});
    co_return std::nullopt;
  }
  epoch_ = next;
  co_return epoch_;
}

std::map<std::string, GpuView> PoolKeeper::gpus() const {
  std::map<std::string, GpuView> out;
  for (const auto& [name, pod] : pods_) out[name] = {pod.phase, ""};
  if (lead_ && lead_->snapshot())
    for (const auto& gpu : lead_->snapshot()->gpus)
      if (const auto found = out.find(gpu.gpu.str()); found != out.end())
        found->second.lease_state = gpu.state;
  return out;
}

std::uint64_t PoolKeeper::demand() const {
  if (!lead_ || !lead_->snapshot()) return 0;
  return lead_->snapshot()->waiting + lead_->snapshot()->leased;
}

std::optional<Trouble> PoolKeeper::trouble() const {
  if (invalid_) return invalid_;
  if (!lead_ || !lead_->reachable())
    return Trouble{"RedisUnreachable", "the lease queue at " + world_.secrets.redis_address +
                                           " does not answer; check Redis, its Secret and the "
                                           "network policies"};
  return std::nullopt;
}

std::vector<Condition> PoolKeeper::conditions() const {
  const auto ready = std::count_if(pods_.begin(), pods_.end(), [](const auto& one) {
    return one.second.phase == PodPhase::ready;
  });
  Condition available{"Available", ready > 0, ready > 0 ? "Serving" : "NoGpuReady",
                      ready > 0 ? "" : "no GPU worker is ready yet"};
  if (invalid_) available = {"Available", false, invalid_->reason, invalid_->message};
  Condition scaling{"Scaling", true, "AsWanted", ""};
  if (refused_) scaling = {"Scaling", false, refused_->reason, refused_->message};
  for (const auto& [name, pod] : pods_)
    if (pod.phase == PodPhase::pending && !pod.trouble.reason.empty())
      scaling = {"Scaling", false, pod.trouble.reason, pod.trouble.message};
  const auto wrong = trouble();
  const bool reachable = !wrong;
  const bool flowing = reachable && lead_ && lead_->epoch() != 0;
  return {available,
          {"RedisReachable", reachable, reachable ? "Reachable" : wrong->reason,
           reachable ? "" : wrong->message},
          {"LeasesFlowing", flowing, flowing ? "Installed" : "NoEpoch",
           flowing ? "" : "nothing is granted until this leader has installed its epoch in Redis"},
          scaling};
}

Json PoolKeeper::status() const {
  Json gpus = Json::object();
  for (const auto* state :
       {"unconfirmed", "idle", "leased", "suspect", "drained", "quarantined", "absent"})
    gpus[state] = 0;
  std::uint32_t waiting = 0;
  if (lead_ && lead_->snapshot()) {
    waiting = lead_->snapshot()->waiting;
    for (const auto& gpu : lead_->snapshot()->gpus) gpus[gpu.state] = gpus.value(gpu.state, 0) + 1;
  }
  const auto ready = std::count_if(pods_.begin(), pods_.end(), [](const auto& one) {
    return one.second.phase == PodPhase::ready;
  });
  Json out{{"replicas", pods_.size()},
           {"readyReplicas", ready},
           {"selector", std::string(kPoolUidLabel) + "=" + owner_.uid},
           {"gpus", gpus},
           {"waiting", waiting},
           {"demand", demand()},
           {"epoch", epoch_}};
  out["conditions"] = Json::array();
  for (const auto& one : conditions()) out["conditions"].push_back(condition_json(one));
  return out;
}

const std::optional<lease::PoolSnapshot>& PoolKeeper::snapshot() const {
  static const std::optional<lease::PoolSnapshot> kNone;
  return lead_ ? lead_->snapshot() : kNone;
}

nlohmann::json PoolKeeper::view() const {
  if (!pool_) return {{"name", owner_.name}, {"namespace", owner_.name_space}};
  return pool_json(*pool_, snapshot(), lead_ && lead_->reachable());
}

}  // namespace swage::controller
