#include "controller/app/run_engine.hpp"

#include <set>
#include <utility>

#include "common/base/digest.hpp"
#include "common/log/log.hpp"
#include "controller/core/rollout_bounds.hpp"

namespace swage::controller {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr auto kPumpEvery = 250ms;
/// A new leader waits so long for workers to say what they have, before it plans anything.
constexpr auto kReportsWithin = 5s;

DispatchSettings dispatch_settings(const EngineSetup& setup) {
  const auto& run = setup.file.run;
  DispatchSettings out;
  out.run_uid = setup.run_uid;
  out.max_running = static_cast<std::uint64_t>(run.rollouts.concurrency);
  out.max_attempts = static_cast<std::uint32_t>(run.rollouts.max_attempts);
  if (setup.takes_over) out.take_over = kReportsWithin;
  return out;
}

std::vector<std::uint32_t> decks_of(const TaskCatalog& catalog) {
  std::vector<std::uint32_t> out;
  for (const auto& task : catalog.tasks) out.push_back(task.deck);
  return out;
}

}  // namespace

RunEngine::RunEngine(asio::any_io_executor strand, Clock& clock, EngineSetup setup,
                     PodBackend& backend, EngineHost& host, ControllerMetrics& metrics)
    : clock_(clock),
      setup_(std::move(setup)),
      backend_(backend),
      host_(host),
      handles_(metrics),
      began_(clock.now()),
      delivered_(began_),
      totals_(setup_.totals),
      curriculum_(setup_.file.run.seed, setup_.tasks.shares, decks_of(setup_.tasks)),
      dispatcher_(dispatch_settings(setup_)),
      pump_timer_(strand),
      work_(strand, work_stop_),
      pods_gate_(strand, pods_stop_),
      workloads_(backend, setup_.layout, clock, work_, RestartPolicy{}, [this] { wake(); }),
      sandboxes_(backend, setup_.layout, setup_.file.run, setup_.sandbox_create_rate, clock, work_,
                 setup_.sandbox_key, [this](PodError error) { pod_failed(std::move(error)); }),
      policies_(make_policy_info(setup_.token), clock),
      dispatch_desk_(strand, setup_.run_uid, *this),
      control_desk_(strand, setup_.run_uid, *this) {
  suspended_ = setup_.file.run.suspend;
  dispatcher_.suspend(suspended_);
}

Task<> RunEngine::start() {
  const auto found = co_await backend_.adopt(pods_stop_);
  for (const auto& pod : found) {
    log_info("a pod of an earlier controller is taken over", {{"pod", pod.name}});
    if (pod.component == Component::sandbox)
      sandboxes_.adopt(pod);
    else
      workloads_.adopt(pod);
  }
  fault_hook_ = work_stop_.on_stop([this] { host_.turned(); });
  std::ignore = pods_gate_.spawn("pod events", pod_loop());
  std::ignore = work_.spawn("pump", pump_loop());
  std::ignore = work_.spawn(
      "policy watch",
      policies_.run([this] { return ready_policies(); },
                    [this](auto servers) { policies_changed(std::move(servers)); }, work_stop_));
}

Task<> RunEngine::pump_loop() {
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

void RunEngine::wake() {
  woken_ = true;
  pump_timer_.cancel();
}

void RunEngine::pump() {
  const auto began = clock_.now();
  dispatcher_.tick(began);
  act();
  workloads_.pump();
  std::set<std::string> held;
  for (const auto& [id, rollout] : dispatcher_.live())
    if (!rollout.sandbox_uid.empty()) held.insert(rollout.sandbox_uid);
  // Before the learner says what it wants the least number is made warm all the same.
  sandboxes_.pump(dispatcher_.attached()
                      ? rollouts_left(dispatcher_.status(), dispatcher_.in_hand())
                      : static_cast<std::uint64_t>(setup_.file.run.sandbox.warm_min),
                  held);
  dispatch();
  act();
  publish();
  look_for_the_end();
  handles_.reconciled(clock_.now() - began);
  host_.turned();
}

/// Carries out what the dispatcher decided.
void RunEngine::act() {
  for (const auto& action : dispatcher_.take_actions()) {
    if (const auto* free = std::get_if<FreeSandbox>(&action)) {
      sandboxes_.free(free->uid);
    } else if (const auto* cancel = std::get_if<CancelOnWorker>(&action)) {
      dispatch_desk_.cancel(cancel->worker, cancel->attempt, host_.epoch(), cancel->reason);
    } else if (const auto* again = std::get_if<Reissued>(&action)) {
      log_warning("a rollout was lost and is issued again", {{"rollout_id", again->next.rollout_id},
                                                             {"attempt", again->next.number},
                                                             {"cause", again->cause}});
      host_.say("rollout", {{"what", "reissued"},
                            {"rollout_id", again->next.rollout_id},
                            {"attempt", again->next.number},
                            {"cause", again->cause}});
    } else if (const auto* group = std::get_if<GroupReplaced>(&action)) {
      log_warning("a group is given up and replaced",
                  {{"stage", stage_name(group->stage)}, {"group", group->group}});
      host_.say("group", {{"what", "replaced"},
                          {"stage", stage_name(group->stage)},
                          {"group", group->group},
                          {"cause", group->cause}});
    }
  }
}

/// Starts as many rollouts as capacity, workers and warm sandboxes allow.
void RunEngine::dispatch() {
  while (const auto start = dispatcher_.next(clock_.now())) {
    if (!sandbox_wanted_) sandbox_wanted_ = clock_.now();
    auto sandbox = sandboxes_.claim();
    if (!sandbox) return;
    handles_.sandbox_claimed(clock_.now() - *sandbox_wanted_);
    dispatcher_.claimed(start->attempt, start->worker, sandbox->uid);
    const auto name = "claim for " + start->attempt.rollout_id;
    std::ignore = work_.spawn(name, claim_and_send(*start, std::move(*sandbox)));
  }
  sandbox_wanted_.reset();
}

/// One write to the backend, then the assignment: a sandbox that nobody marked is nobody's.
Task<> RunEngine::claim_and_send(Dispatcher::Start start, SandboxAddress sandbox) {
  const auto claimed = co_await backend_.claim(sandboxes_.name_of(sandbox.uid), sandbox.uid,
                                               start.attempt.rollout_id);
  if (!claimed) {
    log_warning("a sandbox could not be claimed",
                {{"rollout_id", start.attempt.rollout_id}, {"why", claimed.error().message}});
    dispatcher_.not_sent(start.attempt);
    wake();
    co_return;
  }
  if (ending_ || work_stop_.stopping()) co_return;
  const auto order = order_for(start, std::move(sandbox));
  if (!dispatcher_.holds(start.attempt)) co_return;  // dropped meanwhile
  if (!dispatch_desk_.assign(start.worker, order)) {
    dispatcher_.not_sent(start.attempt);
    wake();
    co_return;
  }
  dispatcher_.sent(start.attempt, clock_.now());
  host_.say("rollout", {{"what", "started"},
                        {"rollout_id", order.rollout_id},
                        {"attempt", order.attempt},
                        {"task_id", order.task.id}});
}

AssignmentOrder RunEngine::order_for(const Dispatcher::Start& start, SandboxAddress sandbox) {
  const auto& run = setup_.file.run;
  const auto& status = dispatcher_.status();
  const auto dealt = curriculum_.deal(start.name, status.group_size);
  AssignmentOrder out;
  out.rollout_id = start.attempt.rollout_id;
  out.attempt = start.attempt.number;
  out.epoch = host_.epoch();
  out.run = run.name;
  out.run_uid = setup_.run_uid;
  out.stage = start.name.stage;
  out.group = start.name.group;
  out.member = start.name.member;
  out.seed = rollout_seed(run.seed, start.name);
  out.task = setup_.tasks.tasks[dealt.task];
  out.sandbox = std::move(sandbox);
  out.teacher = start.name.stage == Stage::collect &&
                run.learning.stages.collect.actor == learner::CollectActor::teacher;
  out.teacher_card = dealt.card;
  out.one_machine = run.learning.preset == learner::Preset::one_machine;
  out.bounds = bounds_of(run, start.name.stage);
  out.temperature = run.learning.learning.temperature;
  out.min_weight_version = out.teacher ? 0 : status.weight_version;
  out.precision = run.evaluation.precision;
  out.weight = run.weight;
  out.max_leases = run.evaluation.max_leases;
  out.no_agent_loop = run.no_agent_loop || start.name.stage == Stage::single_turn;
  out.reward = std::string(learner::to_string(run.learning.reward));
  return out;
}

// What others say.

void RunEngine::worker_joined(const std::string& worker, std::uint32_t capacity) {
  log_info("a rollout worker joined", {{"worker", worker}, {"capacity", capacity}});
  dispatcher_.worker_joined(worker, capacity, clock_.now());
  wake();
}

void RunEngine::worker_reported(const std::string& worker, const RolloutNews& news) {
  dispatcher_.worker_reported(worker, news, clock_.now());
  wake();
}

void RunEngine::worker_ended(const std::string& worker, const RolloutAccount& account) {
  const auto& id = account.end.attempt.rollout_id;
  const bool news = dispatcher_.worker_ended(worker, account.end, clock_.now());
  if (account.end.delivered) {
    delivered_ = clock_.now();
  } else if (!account.end.infrastructure_cause.empty()) {
    last_cause_ = account.end.infrastructure_cause;
  }
  if (news) {
    totals_.add(account);
    host_.say("rollout", {{"what", account.end.delivered ? "completed" : "lost"},
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

void RunEngine::worker_left(const std::string& worker) {
  if (!ending_) log_warning("a rollout worker's stream ended", {{"worker", worker}});
  dispatcher_.worker_left(worker, clock_.now());
  wake();
}

void RunEngine::learner_accepted(const std::vector<std::string>& ids) {
  log_info("the learner is attached", {{"trajectories", ids.size()}});
  dispatcher_.learner_accepted(ids);
  wake();
}

void RunEngine::learner_status(const LearnerStatus& status) {
  dispatcher_.learner_status(status);
  done_ = done_ || status.stage == Stage::done;
  totals_.enter(status, unix_ms());
  wake();
}

void RunEngine::learner_gone() {
  if (!ending_) log_warning("the learner's stream ended");
  dispatcher_.learner_gone();
  wake();
}

std::vector<std::string> RunEngine::ready_policies() const {
  return workloads_.ready_addresses(Component::policy);
}

void RunEngine::policies_changed(std::vector<PolicyServer> servers) {
  dispatch_desk_.set_policies(servers);
  control_desk_.set_policies(std::move(servers));
}

}  // namespace swage::controller
