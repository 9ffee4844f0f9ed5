#include "learner/app/learner.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include "common/asio/blocking.hpp"
#include "common/base/exit_code.hpp"
#include "common/http/health.hpp"
#include "common/http/server.hpp"
#include "common/log/log.hpp"
#include "common/metrics/metrics.hpp"
#include "common/rpc/server.hpp"
#include "learner/adapters/status_message.hpp"
#include "learner/app/control_link.hpp"
#include "learner/app/restore.hpp"
#include "learner/app/services.hpp"
#include "learner/app/stages.hpp"
#include "policy/tokenizer/tokenizer.hpp"

namespace swage::learner {
namespace {

constexpr std::chrono::seconds kServerGrace{5};

int complain(int code, const std::string& text) {
  log_error(text);
  return code;
}

int exit_code_of(const TrainerError& error) {
  return kind_of(error) == FailureKind::retry ? exit_code::kNotWritable : exit_code::kMissing;
}

int exit_code_of(const LogError& error) {
  // One that is in use is free once the other learner has ended: a failure to try again after.
  if (error.code == LogErrc::in_use) return exit_code::kFailed;
  return error.code == LogErrc::disk_full ? exit_code::kNotWritable : exit_code::kMissing;
}

AdmissionRules rules_of(const LearnerConfig& config, const RunIdentity& identity,
                        std::uint32_t vocabulary) {
  AdmissionRules rules;
  rules.run_uid = identity.run_uid;
  rules.config_digest = identity.config_digest;
  rules.tokenizer_digest = identity.tokenizer_digest;
  rules.renderer = config.renderer;
  rules.vocabulary = vocabulary;
  rules.context = largest_context(config.settings);
  rules.pool = config.pool;
  rules.allow_reduced_trust = config.allow_reduced_trust;
  rules.temperature = config.settings.learning.temperature;
  rules.reward = config.settings.reward;
  return rules;
}

/// Runs the root tasks of a started learner and ends them in order.
class Running {
 public:
  Running(const LearnerConfig& config, asio::any_io_executor strand, Clock& clock,
          TrajectoryStore& store, Publisher& publisher, StageHost& host, const Metrics& metrics)
      : config_(config),
        strand_(strand),
        store_(store),
        publisher_(publisher),
        host_(host),
        metrics_(metrics),
        link_(strand, clock, config.controller, config.process.token,
              {[this] { return store_.ledger().accepted_ids(); },
               [this] { return to_message(host_.status(), config_.process.run_uid); },
               [this](const v1::ControllerCommand& command) { obey(command); }}),
        calls_(strand, fault_),
        tasks_(strand, fault_),
        stages_(strand, fault_) {}

  Task<int> run(StopSource& stop) {
    const ServiceHome home{strand_, calls_, config_.process.token};
    TrajectoryService trajectories(home, store_);
    WeightsService weights(home, publisher_);
    auto server = RpcServer::start(config_.process.listen, {&trajectories, &weights});
    if (!server) co_return complain(exit_code::kMissing, server.error().message);
    std::unique_ptr<HttpServer> http;
    if (!config_.process.http.empty()) {
      HttpRouter router;
      add_health_routes(router, metrics_, [this] { return why_not_ready(); });
      auto started = HttpServer::start(strand_, config_.process.http, std::move(router), "");
      if (!started) co_return complain(exit_code::kMissing, started.error().message);
      http = std::move(*started);
    }
    const auto hook = stop.on_stop([this] { fault_.request(StopReason::requested); });
    if (stop.stopping()) fault_.request(StopReason::requested);
    host_.on_change([this] { link_.notify(); });
    std::ignore = tasks_.spawn("log", store_.run(commit_stop_));
    std::ignore = tasks_.spawn("weights", publisher_.run(fault_));
    std::ignore = tasks_.spawn("control", link_.run(link_stop_));
    std::ignore = tasks_.spawn("status", relay_store());
    std::ignore = stages_.spawn("stages", run_stages(host_, fault_));
    ready_ = true;
    if (auto wrote = write_ready_file(config_.process.ready_file, http ? http->port() : 0); !wrote)
      log_warning("no ready file", {{"reason", wrote.error().message}});
    while (!fault_.stopping()) co_await ended_.wait(fault_);
    ready_ = false;
    co_return co_await end(**server, http.get());
  }

  std::string names() const {
    std::string out;
    for (const auto* gate : {&stages_, &calls_, &tasks_})
      for (const auto& name : gate->names()) out += name + " ";
    return out;
  }

 private:
  std::string why_not_ready() const { return ready_ ? "" : "starting or stopping"; }

  /// What the store sees is part of the status.
  Task<> relay_store() {
    while (!fault_.stopping()) {
      co_await store_.changed().wait(fault_);
      link_.notify();
    }
  }

  void obey(const v1::ControllerCommand& command) {
    switch (command.kind_case()) {
      case v1::ControllerCommand::kPolicySet:
        publisher_.set_servers(command.policy_set());
        break;
      case v1::ControllerCommand::kResume:
        host_.resume(command.resume().pause_id());
        break;
      case v1::ControllerCommand::kStop:
        log_info("told to stop", {{"reason", command.stop().reason()}});
        fault_.request(StopReason::requested);
        break;
      case v1::ControllerCommand::KIND_NOT_SET:
        break;
    }
  }

  /// Stages first (they may still append frames), then callers, then what serves both.
  Task<int> end(RpcServer& server, HttpServer* http) {
    std::exception_ptr failure;
    const auto keep = [&failure](std::exception_ptr e) {
      if (!failure) failure = e;
    };
    try {
      co_await stages_.join();
    } catch (...) {
      keep(std::current_exception());
    }
    co_await server.shut_down(kServerGrace);
    co_await calls_.join();
    link_stop_.request(StopReason::requested);
    commit_stop_.request(StopReason::requested);
    try {
      co_await tasks_.join();
    } catch (...) {
      keep(std::current_exception());
    }
    if (http != nullptr) co_await http->stop();
    if (failure) std::rethrow_exception(failure);
    co_return 0;
  }

  const LearnerConfig& config_;
  asio::any_io_executor strand_;
  TrajectoryStore& store_;
  Publisher& publisher_;
  StageHost& host_;
  const Metrics& metrics_;
  StopSource fault_;  // a signal, a command, or a task that failed
  StopSource link_stop_, commit_stop_;
  Event ended_{strand_};
  bool ready_ = false;
  ControlLink link_;
  Gate calls_, tasks_, stages_;
};

}  // namespace

Task<int> run_learner(LearnerConfig config, TrainerFactory factory, asio::any_io_executor strand,
                      StopSource& stop) {
  const auto clock = make_steady_clock();
  auto tokenizer = policy::Tokenizer::load(config.tokenizer);
  if (!tokenizer) co_return complain(exit_code::kMissing, tokenizer.error().message);

  asio::thread_pool trainer_thread(1);
  asio::thread_pool file_thread(1);
  auto make = [&config, &factory, vocabulary = tokenizer->vocabulary()] {
    return factory(config, vocabulary);
  };
  auto trainer = co_await run_blocking(trainer_thread, std::move(make));
  if (!trainer) co_return complain(exit_code_of(trainer.error()), trainer.error().message);

  const RunIdentity identity{config.process.run_uid, (*trainer)->config_digest(),
                             tokenizer->digest()};
  Metrics registry({{"run", config.process.run}});
  LearnerMetrics metrics(registry);
  auto store = TrajectoryStore::open(config.out / "learner",
                                     {strand, file_thread, *clock, metrics, config.verdict_key,
                                      rules_of(config, identity, (*trainer)->vocabulary())});
  if (!store) co_return complain(exit_code_of(store.error()), store.error().message);
  auto restored = restore(config, identity, trainer_thread, **trainer);
  if (!restored) co_return complain(exit_code_of(restored.error()), restored.error().message);

  Publisher publisher(strand, *clock, config.process.token);
  StageHost host({strand, *clock, metrics, **store, publisher, **trainer, trainer_thread,
                  std::move(restored->checkpoints), std::move(restored->csv), config.tokenizer,
                  config.settings, identity, config.seed},
                 restored->state);
  if (restored->damaged)
    host.set_condition({"CheckpointDamaged", true, "NotVerified", *restored->damaged});
  Running running(config, strand, *clock, **store, publisher, host, registry);
  const int code = co_await running.run(stop);
  trainer_thread.join();
  file_thread.join();
  co_return code;
}

}  // namespace swage::learner
