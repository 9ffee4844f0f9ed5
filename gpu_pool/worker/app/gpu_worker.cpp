#include "gpu_pool/worker/app/gpu_worker.hpp"

#include <utility>

#include "common/base/digest.hpp"
#include "common/base/exit_code.hpp"
#include "common/http/health.hpp"
#include "common/http/server.hpp"
#include "common/log/log.hpp"
#include "common/rpc/server.hpp"
#include "gpu_pool/lease/api/worker_queue.hpp"
#include "gpu_pool/worker/adapters/evaluator_service.hpp"
#include "gpu_pool/worker/app/evaluations.hpp"
#include "gpu_pool/worker/app/metrics.hpp"
#include "gpu_pool/worker/app/registrar.hpp"

namespace swage::worker {
namespace {

using namespace std::chrono_literals;

/// Everything of one worker, in the order in which it is made; ended by run().
class Worker {
 public:
  Worker(const asio::any_io_executor& strand, WorkerConfig config, lease::WorkerLink& link,
         judge::JudgeRunner& runner)
      : strand_(strand),
        config_(std::move(config)),
        registry_({{"pool", config_.queue.pool}}),
        metrics_(registry_),
        clock_(make_steady_clock()),
        link_(link),
        evaluations_(strand, runner, *clock_,
                     {[this](std::string what) {
                        metrics_.device_not_clear();
                        fail(std::move(what));
                      },
                      [this] { metrics_.evaluation_refused_stale(); }}),
        registrar_(strand, link_.queue(), evaluations_, *clock_,
                   {config_.gpu, lease::BootId(to_hex(random_bytes(16))), config_.address},
                   [this](std::string what) { fail(std::move(what)); }),
        ended_(strand),
        calls_(strand, calls_stop_),
        service_({strand, calls_, config_.process.token}, evaluations_, config_.queue.pool) {}

  Task<int> run(StopSource& stop) {
    const bool up = open();
    while (up && !failed_ && !stop.stopping()) co_await ended_.wait(stop);
    serving_ = false;
    if (up) log_info("shutting down", {{"gpu", config_.gpu}});
    co_await evaluations_.drain(clock_->now() + config_.drain);
    if (rpc_) co_await rpc_->shut_down(500ms);
    co_await calls_.join();
    co_await registrar_.shut_down();
    if (http_) co_await http_->stop();
    co_return up ? (failed_ ? 1 : 0) : exit_code::kMissing;
  }

 private:
  /// False: an address cannot be bound, or the ready file not written.
  bool open() {
    auto rpc = RpcServer::start(config_.process.listen, {&service_});
    if (!rpc) return complain(rpc.error().message);
    rpc_ = std::move(*rpc);
    int port = 0;
    if (!config_.process.http.empty()) {
      HttpRouter router;
      add_health_routes(router, registry_, [this] { return why_not_ready(); });
      auto http = HttpServer::start(strand_, config_.process.http, std::move(router),
                                    config_.process.token);
      if (!http) return complain(http.error().message);
      http_ = std::move(*http);
      port = http_->port();
    }
    const auto ready = write_ready_file(config_.process.ready_file, port);
    return ready ? true : complain(ready.error().message);
  }
  static bool complain(const std::string& why) {
    log_error("the GPU worker cannot serve", {{"why", why}});
    return false;
  }
  std::string why_not_ready() const {
    if (!serving_) return "shutting down";
    return registrar_.registered() ? "" : "not registered in the lease queue: " + link_.trouble();
  }
  void fail(std::string what) {
    log_error("the GPU worker must end", {{"gpu", config_.gpu}, {"why", what}});
    failed_ = true;
    ended_.notify();
  }

  asio::any_io_executor strand_;
  WorkerConfig config_;
  Metrics registry_;
  WorkerMetrics metrics_;
  std::unique_ptr<Clock> clock_;
  lease::WorkerLink& link_;
  Evaluations evaluations_;
  Registrar registrar_;
  bool failed_ = false, serving_ = true;
  Event ended_;
  StopSource calls_stop_;
  Gate calls_;
  EvaluatorService service_;
  std::unique_ptr<RpcServer> rpc_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace

Task<int> serve_gpu(WorkerConfig config, judge::JudgeRunner& runner, StopSource& stop) {
  const auto strand = co_await asio::this_coro::executor;
  const auto link = co_await lease::open_worker_link(config.queue);
  int code = 1;
  {
    Worker worker(strand, std::move(config), *link, runner);
    code = co_await worker.run(stop);
  }
  co_await link->shut_down();
  co_return code;
}

}  // namespace swage::worker
