#include "rollout_worker/app/worker.hpp"

#include <unistd.h>

#include <iostream>
#include <utility>

#include "common/asio/clock.hpp"
#include "common/asio/event.hpp"
#include "common/base/exit_code.hpp"
#include "common/http/health.hpp"
#include "common/http/server.hpp"
#include "common/log/log.hpp"
#include "rollout_worker/adapters/dispatcher_client.hpp"
#include "rollout_worker/adapters/judge_client.hpp"
#include "rollout_worker/adapters/learner_client.hpp"
#include "rollout_worker/adapters/policy_client.hpp"
#include "rollout_worker/adapters/sandbox_client.hpp"
#include "rollout_worker/adapters/teacher_policy.hpp"
#include "rollout_worker/app/commands.hpp"
#include "rollout_worker/app/leased_evaluator.hpp"
#include "rollout_worker/app/rollout_pool.hpp"
#include "rollout_worker/app/token_renderer.hpp"

namespace swage::rollout_worker {
namespace {

using std::chrono::seconds;

/// All parts of the process, in the order in which they need each other.
struct Worker {
  Worker(const asio::any_io_executor& strand, const WorkerConfig& config,
         std::unique_ptr<Renderer> renderer_made, std::unique_ptr<lease::LeaseHolder> holder_made)
      : registry({{"run", config.process.run}}),
        metrics(registry),
        clock(make_steady_clock()),
        renderer(std::move(renderer_made)),
        holder(std::move(holder_made)),
        servers(make_policy_servers(
            *clock, {config.process.token, renderer->tokenizer_digest(), renderer->stop_ids()})),
        teacher(make_teacher(*renderer, config.teacher_directory)),
        sandboxes(make_sandbox_connector(strand, *clock)),
        judge(make_judge_client(strand, *clock, config.process.token)),
        evaluator(*holder, *judge, *clock, metrics),
        learner(make_learner_client(strand, *clock, config.learner, config.process.token)),
        dispatcher(
            make_dispatcher_client(strand, *clock,
                                   {config.controller, config.process.token, config.process.name,
                                    config.process.run_uid, config.capacity})),
        pool(strand,
             {*clock, *renderer, *servers, *teacher, *sandboxes, evaluator, *learner, metrics},
             *dispatcher, config.capacity),
        commands(pool, *servers) {}

  Metrics registry;
  RolloutMetrics metrics;
  std::unique_ptr<Clock> clock;
  std::unique_ptr<Renderer> renderer;
  std::unique_ptr<lease::LeaseHolder> holder;
  std::unique_ptr<PolicyServers> servers;
  std::unique_ptr<PolicyDirectory> teacher;
  std::unique_ptr<SandboxConnector> sandboxes;
  std::unique_ptr<JudgeClient> judge;
  LeasedEvaluator evaluator;
  std::unique_ptr<LearnerClient> learner;
  std::unique_ptr<DispatcherClient> dispatcher;
  RolloutPool pool;
  Commands commands;
};

int failed(int code, const std::string& text) {
  std::cerr << "swage-rollout-worker: " << text << "\n";
  return code;
}

Task<> wait_for(asio::any_io_executor strand, StopSource& stop) {
  swage::Event never(std::move(strand));
  while (!stop.stopping()) co_await never.wait(stop);
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "no rollout; connections" : text;
}

/// Unique among the pool's clients, new with each start: an old process's requests are not ours.
lease::ClientId client_id(const WorkerConfig& config) {
  return lease::ClientId(config.process.name + "." + std::to_string(::getpid()) + "." +
                         std::to_string(unix_ms()));
}

}  // namespace

Task<int> run_worker(asio::any_io_executor strand, StopSource& stop, WorkerConfig config,
                     std::function<std::string()>& who_runs) {
  auto tokenizer = policy::Tokenizer::load(config.tokenizer);
  if (!tokenizer) co_return failed(exit_code::kMissing, tokenizer.error().message);
  auto renderer = make_token_renderer(config.renderer, std::move(*tokenizer));
  if (!renderer) co_return failed(exit_code::kBadInput, renderer.error().message);
  auto holder = co_await lease::open_lease_holder(config.queue, client_id(config));
  Worker worker(strand, config, std::move(*renderer), std::move(holder));

  int http_port = 0;
  std::unique_ptr<HttpServer> http;
  if (!config.process.http.empty()) {
    HttpRouter router;
    add_health_routes(router, worker.registry, [&]() -> std::string {
      if (stop.stopping()) return "shutting down";
      return worker.dispatcher->connected() ? "" : "not connected to the controller";
    });
    auto started = HttpServer::start(strand, config.process.http, router, config.process.token);
    if (!started) {
      co_await worker.holder->shut_down();
      co_return failed(exit_code::kMissing, started.error().message);
    }
    http = std::move(*started);
    http_port = http->port();
  }
  who_runs = [&worker] { return joined(worker.pool.names()); };
  worker.dispatcher->start(worker.commands);
  int code = 0;
  if (const auto written = write_ready_file(config.process.ready_file, http_port); written) {
    log_info("serving", {{"capacity", config.capacity}, {"http_port", http_port}});
    co_await wait_for(strand, stop);
  } else {
    code = failed(74, written.error().message);
  }

  log_info("draining", {{"rollouts", worker.pool.size()}});
  co_await worker.pool.drain(worker.clock->now() + config.drain);
  co_await worker.dispatcher->close(seconds(1));
  co_await worker.learner->close();
  co_await worker.holder->shut_down();
  if (http) co_await http->stop();
  who_runs = nullptr;
  co_return code;
}

}  // namespace swage::rollout_worker
