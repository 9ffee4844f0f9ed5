#include "policy/app/server.hpp"

#include "common/base/check.hpp"
#include "common/base/exit_code.hpp"
#include "common/http/health.hpp"
#include "common/log/log.hpp"
#include "common/rpc/channel.hpp"
#include "policy/engine/engine.hpp"

namespace swage::policy {
namespace {

using namespace std::chrono_literals;

EngineOptions engine_options(const PolicyConfig& config, const ModelConfig& model) {
  EngineOptions options;
  options.model = model;
  options.kv = config.kv;
  options.context = config.context;
  options.cache_tokens = config.cache_tokens;
  options.threads = config.threads;
  return options;
}

ServedModel served_model(const PolicyConfig& config, const ModelConfig& model,
                         std::string tokenizer_digest) {
  const auto context = config.context > 0 ? std::min(config.context, model.context) : model.context;
  return {config_digest(model), std::move(tokenizer_digest),
          static_cast<std::uint32_t>(model.vocabulary), static_cast<std::uint32_t>(context)};
}

}  // namespace

PolicyServer::PolicyServer(asio::any_io_executor strand, StopSource& stop, PolicyConfig config,
                           ModelConfig model, std::string tokenizer_digest)
    : strand_(strand),
      stop_(stop),
      config_(std::move(config)),
      model_(std::move(model)),
      metrics_({{"run", config_.process.run}}),
      handles_(metrics_),
      engine_(make_torch_engine(engine_options(config_, model_), handles_)),
      assembly_(config_.process.run_uid, config_digest(model_), weight_layout(model_)),
      clock_(make_steady_clock()),
      calls_(strand, calls_stop_),
      tasks_(strand, stop),
      policy_service_({strand, calls_, config_.process.token}, *engine_,
                      served_model(config_, model_, std::move(tokenizer_digest))),
      weights_service_(
          {strand, calls_, config_.process.token}, assembly_,
          [this](HeldWeights held) { return load(std::move(held)); }, handles_) {}

Task<> PolicyServer::load(HeldWeights held) {
  const auto version = held.manifest.version;
  struct Loaded {
    explicit Loaded(asio::any_io_executor at) : event(std::move(at)) {}
    Event event;
    bool done = false;
  };
  const auto loaded = std::make_shared<Loaded>(strand_);
  engine_->load_weights(version, held.bytes, [strand = strand_, loaded] {
    asio::post(strand, [loaded] {
      loaded->done = true;
      loaded->event.notify();
    });
  });
  while (!loaded->done && !stop_.stopping()) co_await loaded->event.wait(stop_);
  log_info("weights loaded", {{"weight_version", version}, {"step", held.manifest.step}});
}

Task<> PolicyServer::fetch_first_weights() {
  const auto stub = v1::Weights::NewStub(make_channel(config_.learner));
  while (!stop_.stopping() && assembly_.held_version() == 0) {
    WeightIntake intake(
        assembly_, [this](HeldWeights held) { return load(std::move(held)); }, handles_);
    const CallOptions options{clock_->now() + 10min, config_.process.token};
    const auto fetched =
        co_await fetch_weights(*stub, config_digest(model_), 0, options, intake, stop_);
    if (fetched) {
      log_info("weights fetched", {{"weight_version", *fetched}, {"from", config_.learner}});
      co_return;
    }
    if (fetched.error().code == FetchErrc::incompatible)
      log_warning("the learner's weights do not fit this model",
                  {{"from", config_.learner}, {"detail", fetched.error().detail}});
    co_await clock_->sleep_for(1s, stop_);
  }
}

Result<std::unique_ptr<HttpServer>, HttpServerError> PolicyServer::start_http() {
  HttpRouter router;
  add_health_routes(router, metrics_,
                    [this] { return ready_ ? std::string() : std::string("not serving"); });
  return HttpServer::start(strand_, config_.process.http, std::move(router), config_.process.token);
}

Task<> PolicyServer::drain() {
  if (rpc_) co_await rpc_->shut_down(5s);
  co_await calls_.join();
  co_await tasks_.join();
  if (http_) co_await http_->stop();
  engine_->stop();
}

Task<int> PolicyServer::run() {
  auto rpc = RpcServer::start(config_.process.listen, {&policy_service_, &weights_service_});
  if (!rpc) {
    log_error("cannot serve gRPC",
              {{"listen", config_.process.listen}, {"detail", rpc.error().message}});
    co_await drain();
    co_return exit_code::kMissing;
  }
  rpc_ = std::move(*rpc);
  if (!config_.process.http.empty()) {
    auto http = start_http();
    if (!http) {
      log_error("cannot serve HTTP", {{"detail", http.error().message}});
      co_await drain();
      co_return exit_code::kMissing;
    }
    http_ = std::move(*http);
  }
  if (!config_.learner.empty()) {
    auto fetching = fetch_first_weights();
    check(tasks_.spawn("fetch weights", std::move(fetching)), "a fresh gate is open");
  }
  ready_ = true;
  const auto written = write_ready_file(config_.process.ready_file, http_ ? http_->port() : 0);
  if (!written) log_error("cannot write the ready file", {{"detail", written.error().message}});
  log_info("serving", {{"listen", config_.process.listen}, {"port", rpc_->port()}});
  Event never(strand_);
  while (written && !stop_.stopping()) co_await never.wait(stop_);
  ready_ = false;
  if (!written) stop_.request(StopReason::fault);
  co_await drain();
  co_return written ? 0 : exit_code::kNotWritable;
}

}  // namespace swage::policy
