#include "controller/app/run_controller.hpp"

#include <set>
#include <utility>

#include "common/base/digest.hpp"
#include "common/http/health.hpp"
#include "common/log/log.hpp"

namespace swage::controller {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr auto kPumpEvery = 250ms;
constexpr std::size_t kEventsKept = 10000;

DispatchSettings dispatch_settings(const std::string& run_uid, const TrainingRun& run) {
  DispatchSettings out;
  out.run_uid = run_uid;
  out.max_running = static_cast<std::uint64_t>(run.rollouts.concurrency);
  out.max_attempts = static_cast<std::uint32_t>(run.rollouts.max_attempts);
  return out;
}

std::vector<std::uint32_t> decks_of(const TaskCatalog& catalog) {
  std::vector<std::uint32_t> out;
  for (const auto& task : catalog.tasks) out.push_back(task.deck);
  return out;
}

lease::QueueConfig queue_of(const RunSetup& setup) {
  return {setup.layout.redis_address(), read_file(setup.layout.redis_password_file()).value_or(""),
          setup.file.pool.full_name()};
}

}  // namespace

RunController::RunController(asio::any_io_executor strand, StopSource& stop, Clock& clock,
                             RunSetup setup)
    : strand_(strand),
      stop_(stop),
      clock_(clock),
      setup_(std::move(setup)),
      began_(clock.now()),
      started_unix_ms_(unix_ms()),
      saved_(began_),
      delivered_(began_),
      handles_(metrics_, setup_.file.pool.full_name()),
      events_(static_cast<std::uint64_t>(started_unix_ms_) * 1000, kEventsKept),
      totals_(setup_.out.totals()),
      curriculum_(setup_.file.run.seed, setup_.tasks.shares, decks_of(setup_.tasks)),
      dispatcher_(dispatch_settings(setup_.out.run_uid(), setup_.file.run)),
      event_added_(strand),
      pump_timer_(strand),
      over_(strand),
      work_(strand, work_stop_),
      rpc_gate_(strand, rpc_stop_),
      pods_gate_(strand, pods_stop_),
      pool_(
          queue_of(setup_), setup_.file.pool,
          [this](std::uint64_t at_least) { return raise_epoch(at_least); }, clock),
      policies_(make_policy_info(setup_.token), clock),
      trajectories_(
          make_trajectory_client(setup_.layout.learner_address(), setup_.token, setup_.decode)),
      api_(*this, *trajectories_, events_, event_added_, clock, rpc_stop_),
      dispatch_service_({strand, rpc_gate_, setup_.token}, setup_.out.run_uid(), *this),
      control_service_({strand, rpc_gate_, setup_.token}, setup_.out.run_uid(), *this) {
  suspended_ = setup_.file.run.suspend;
  dispatcher_.suspend(suspended_);
}

Task<int> RunController::run() {
  const auto hook = stop_.on_stop([this] { wake(); });
  const auto epoch = setup_.out.raise_epoch(0);
  if (!epoch) {
    log_error("cannot write the epoch file; free some space or fix its permissions",
              {{"out", setup_.out.root().string()}});
    co_return 74;
  }
  epoch_ = *epoch;
  if (!co_await start_serving()) co_return failure_code_;
  std::ignore = pods_gate_.spawn("pod events", pod_loop());
  std::ignore = work_.spawn("pump", pump_loop());
  std::ignore = work_.spawn("pool leader", pool_.run([this] { wake(); }, work_stop_));
  std::ignore = work_.spawn(
      "policy watch",
      policies_.run([this] { return ready_policies(); },
                    [this](auto servers) { policies_changed(std::move(servers)); }, work_stop_));
  while (!ending_ && !work_stop_.stopping()) co_await over_.wait(work_stop_);
  if (!ending_) {  // a task threw
    failure_ = "the controller has a fault";
    failure_code_ = 70;
    ending_ = true;
  }
  co_await end_in_order();
  const int code = close_books();
  publish();
  co_await stop_serving();
  co_return code;
}

/// Binds what others dial, then writes run.json. False: failure_ says why.
Task<bool> RunController::start_serving() {
  auto backend = make_local_pod_backend(strand_, clock_, setup_.layout.backend_settings());
  if (!backend) {
    log_error("cannot run pods here", {{"why", backend.error().message}});
    co_return false;
  }
  backend_ = std::move(*backend);
  workloads_ = std::make_unique<Workloads>(*backend_, setup_.layout, clock_, work_, RestartPolicy{},
                                           [this] { wake(); });
  sandboxes_ = std::make_unique<Sandboxes>(
      *backend_, setup_.layout, setup_.file.run, clock_, work_, setup_.sandbox_key,
      [this](PodError error) { pod_failed(std::move(error)); });
  auto rpc =
      RpcServer::start(setup_.layout.controller_address(), {&dispatch_service_, &control_service_});
  if (rpc) {
    rpc_ = std::move(*rpc);
    HttpRouter router;
    add_health_routes(router, metrics_, [this] {
      return serving_ && workloads_->reconciler().all_ready() ? std::string()
                                                              : std::string("pods are starting");
    });
    api_.add_routes(router);
    auto http = HttpServer::start(strand_, "127.0.0.1:0", router, setup_.token);
    if (http) {
      http_ = std::move(*http);
      serving_ = true;
      write_run_json("running");
      co_return true;
    }
    failure_ = http.error().message;
    co_await rpc_->shut_down(0s);
  } else {
    failure_ = rpc.error().message;
  }
  log_error("cannot serve", {{"why", failure_}});
  co_await backend_->close();
  co_return false;
}

Task<> RunController::pump_loop() {
  while (!work_stop_.stopping() && !ending_) {
    woken_ = false;
    pump();
    if (woken_ || ending_) continue;
    pump_timer_.expires_after(kPumpEvery);
    const auto hook = work_stop_.on_stop([this] { pump_timer_.cancel(); });
    boost::system::error_code ignored;
    co_await pump_timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

void RunController::wake() {
  woken_ = true;
  pump_timer_.cancel();
}

void RunController::pump() {
  const auto began = clock_.now();
  dispatcher_.tick(began);
  act();
  workloads_->pump();
  std::set<std::string> held;
  for (const auto& [id, rollout] : dispatcher_.live())
    if (!rollout.sandbox_uid.empty()) held.insert(rollout.sandbox_uid);
  // Before the learner says what it wants the least number is made warm all the same.
  sandboxes_->pump(dispatcher_.attached()
                       ? rollouts_left(dispatcher_.status(), dispatcher_.in_hand())
                       : static_cast<std::uint64_t>(setup_.file.run.sandbox.warm_min),
                   held);
  dispatch();
  act();
  publish();
  look_for_the_end();
  handles_.reconciled(clock_.now() - began);
}

/// Carries out what the dispatcher decided.
void RunController::act() {
  for (const auto& action : dispatcher_.take_actions()) {
    if (const auto* free = std::get_if<FreeSandbox>(&action)) {
      sandboxes_->free(free->uid);
    } else if (const auto* cancel = std::get_if<CancelOnWorker>(&action)) {
      dispatch_service_.cancel(cancel->worker, cancel->attempt, epoch_, cancel->reason);
    } else if (const auto* again = std::get_if<Reissued>(&action)) {
      log_warning("a rollout was lost and is issued again", {{"rollout_id", again->next.rollout_id},
                                                             {"attempt", again->next.number},
                                                             {"cause", again->cause}});
      say("rollout", {{"what", "reissued"},
                      {"rollout_id", again->next.rollout_id},
                      {"attempt", again->next.number},
                      {"cause", again->cause}});
    } else if (const auto* group = std::get_if<GroupReplaced>(&action)) {
      log_warning("a group is given up and replaced",
                  {{"stage", stage_name(group->stage)}, {"group", group->group}});
      say("group", {{"what", "replaced"},
                    {"stage", stage_name(group->stage)},
                    {"group", group->group},
                    {"cause", group->cause}});
    }
  }
}

/// Starts as many rollouts as capacity, workers and warm sandboxes allow.
void RunController::dispatch() {
  while (const auto start = dispatcher_.next(clock_.now())) {
    if (!sandbox_wanted_) sandbox_wanted_ = clock_.now();
    auto sandbox = sandboxes_->claim();
    if (!sandbox) return;
    handles_.sandbox_claimed(clock_.now() - *sandbox_wanted_);
    dispatcher_.claimed(start->attempt, start->worker, sandbox->uid);
    const auto order = order_for(*start, std::move(*sandbox));
    if (!dispatch_service_.assign(start->worker, order)) {
      dispatcher_.not_sent(start->attempt);
      return;
    }
    dispatcher_.sent(start->attempt, clock_.now());
    say("rollout", {{"what", "started"},
                    {"rollout_id", order.rollout_id},
                    {"attempt", order.attempt},
                    {"task_id", order.task.id}});
  }
  sandbox_wanted_.reset();
}

AssignmentOrder RunController::order_for(const Dispatcher::Start& start, SandboxAddress sandbox) {
  const auto& run = setup_.file.run;
  const auto& stages = run.learning.stages;
  const auto& status = dispatcher_.status();
  const auto dealt = curriculum_.deal(start.name, status.group_size);
  const bool single = start.name.stage == Stage::single_turn;
  AssignmentOrder out;
  out.rollout_id = start.attempt.rollout_id;
  out.attempt = start.attempt.number;
  out.epoch = epoch_;
  out.run = run.name;
  out.run_uid = setup_.out.run_uid();
  out.stage = start.name.stage;
  out.group = start.name.group;
  out.member = start.name.member;
  out.seed = rollout_seed(run.seed, start.name);
  out.task = setup_.tasks.tasks[dealt.task];
  out.sandbox = std::move(sandbox);
  out.teacher =
      start.name.stage == Stage::collect && stages.collect.actor == learner::CollectActor::teacher;
  out.teacher_card = dealt.card;
  out.one_machine = run.learning.preset == learner::Preset::one_machine;
  out.bounds.turns = single ? 1 : stages.agentic.turns;
  out.bounds.context_tokens =
      single ? stages.single_turn.context_tokens : stages.agentic.context_tokens;
  out.bounds.wall_clock_seconds = static_cast<std::uint32_t>(run.rollouts.wall_clock_seconds);
  if (out.one_machine) {
    out.bounds.turn_tokens = 512;
    out.bounds.observation_tokens = 256;
  } else if (is_evaluation(start.name.stage)) {
    out.bounds.turns = 200;  // the paper's figure for evaluation
  }
  out.temperature = run.learning.learning.temperature;
  out.min_weight_version = out.teacher ? 0 : status.weight_version;
  out.precision = run.evaluation.precision;
  out.weight = run.weight;
  out.max_leases = run.evaluation.max_leases;
  out.no_agent_loop = run.no_agent_loop || single;
  out.reward = std::string(learner::to_string(run.learning.reward));
  return out;
}

// What others say.

void RunController::worker_joined(const std::string& worker, std::uint32_t capacity) {
  log_info("a rollout worker joined", {{"worker", worker}, {"capacity", capacity}});
  dispatcher_.worker_joined(worker, capacity, clock_.now());
  wake();
}

void RunController::worker_reported(const std::string& worker, const Attempt& attempt,
                                    std::uint32_t turns, std::uint32_t tokens) {
  dispatcher_.worker_reported(worker, attempt, turns, tokens, clock_.now());
  wake();
}

void RunController::worker_ended(const std::string& worker, const RolloutAccount& account) {
  const auto& id = account.end.attempt.rollout_id;
  const bool known = dispatcher_.live().contains(id);
  dispatcher_.worker_ended(worker, account.end, clock_.now());
  if (account.end.delivered) {
    delivered_ = clock_.now();
  } else if (!account.end.infrastructure_cause.empty()) {
    last_cause_ = account.end.infrastructure_cause;
  }
  if (known) {  // a worker repeats what ended lately after it reconnected
    totals_.add(account);
    say("rollout", {{"what", account.end.delivered ? "completed" : "lost"},
                    {"rollout_id", id},
                    {"attempt", account.end.attempt.number},
                    {"stop_reason", account.stop_reason},
                    {"cause", account.end.infrastructure_cause},
                    {"reward", account.reward ? json(*account.reward) : json(nullptr)},
                    {"turns", account.turns},
                    {"tokens", account.tokens}});
  }
  wake();
}

void RunController::worker_left(const std::string& worker) {
  if (!ending_) log_warning("a rollout worker's stream ended", {{"worker", worker}});
  dispatcher_.worker_left(worker, clock_.now());
  wake();
}

void RunController::learner_accepted(const std::vector<std::string>& ids) {
  log_info("the learner is attached", {{"trajectories", ids.size()}});
  dispatcher_.learner_accepted(ids);
  wake();
}

void RunController::learner_status(const LearnerStatus& status) {
  dispatcher_.learner_status(status);
  totals_.enter(status, unix_ms());
  wake();
}

void RunController::learner_gone() {
  if (!ending_) log_warning("the learner's stream ended");
  dispatcher_.learner_gone();
  wake();
}

Task<> RunController::pod_loop() {
  while (const auto event = co_await backend_->next_event(pods_stop_)) {
    const bool ended = event->phase == PodPhase::succeeded || event->phase == PodPhase::failed;
    if (event->component == Component::sandbox) {
      sandboxes_->observed(*event);
      sandbox_ended(*event);
    } else {
      workloads_->observed(*event);
      if (event->component == Component::rollout_worker && ended)
        dispatcher_.worker_died(event->name, clock_.now());
      if (ended && !ending_)
        log_warning("a pod ended", {{"pod", event->name}, {"how", event->detail}});
      if (event->phase == PodPhase::ready)
        log_info("a pod is ready", {{"pod", event->name}, {"pid", event->pid}});
      say("pod", {{"pod", event->name},
                  {"what", event->phase == PodPhase::ready ? "ready"
                           : ended                         ? "ended"
                                                           : "started"},
                  {"detail", event->detail}});
    }
    wake();
  }
}

std::vector<std::string> RunController::ready_policies() const {
  std::vector<std::string> out;
  for (const auto& pod : workloads_->ready_pods(Component::policy))
    out.push_back(setup_.layout.address_of(pod));
  return out;
}

void RunController::policies_changed(std::vector<PolicyServer> servers) {
  dispatch_service_.set_policies(servers);
  control_service_.set_policies(std::move(servers));
}

void RunController::pod_failed(PodError error) {
  if (kind_of(error.code) != FailureKind::give_up || !failure_.empty()) return;
  failure_ = std::move(error.message);
  failure_code_ = error.code == PodErrc::disk_full ? 74 : 69;
  wake();
}

Task<std::optional<std::uint64_t>> RunController::raise_epoch(std::uint64_t at_least) {
  const auto epoch = setup_.out.raise_epoch(at_least);
  if (epoch) epoch_ = *epoch;
  co_return epoch;
}

}  // namespace swage::controller
