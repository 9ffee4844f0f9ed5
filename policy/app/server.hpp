#pragma once

#include <memory>

#include "common/asio/asio.hpp"
#include "common/asio/clock.hpp"
#include "common/asio/event.hpp"
#include "common/asio/gate.hpp"
#include "common/asio/stop_source.hpp"
#include "common/http/server.hpp"
#include "common/rpc/server.hpp"
#include "policy/adapters/metrics.hpp"
#include "policy/adapters/policy_service.hpp"
#include "policy/adapters/weights_client.hpp"
#include "policy/adapters/weights_service.hpp"
#include "policy/app/config.hpp"
#include "policy/model/config.hpp"

namespace swage::policy {

/// The policy server: engine, gRPC services, HTTP, and the fetch of weights that were published
/// before it started. Everything but the engine's thread runs on `strand`. Await run() once; it
/// returns the process's exit code after `stop` was requested and all of it has ended.
class PolicyServer {
 public:
  PolicyServer(asio::any_io_executor strand, StopSource& stop, PolicyConfig config,
               ModelConfig model, std::string tokenizer_digest);
  Task<int> run();

 private:
  Task<> load(HeldWeights held);
  Task<> fetch_first_weights();
  Result<std::unique_ptr<HttpServer>, HttpServerError> start_http();
  Task<> drain();

  asio::any_io_executor strand_;
  StopSource& stop_;
  PolicyConfig config_;
  ModelConfig model_;
  Metrics metrics_;
  PolicyMetrics handles_;
  std::unique_ptr<InferenceEngine> engine_;
  WeightAssembly assembly_;
  std::unique_ptr<Clock> clock_;
  StopSource calls_stop_;  // never requested: calls end by the server's shutdown
  Gate calls_;             // the gRPC handlers
  Gate tasks_;             // everything else
  PolicyService policy_service_;
  WeightsService weights_service_;
  std::unique_ptr<RpcServer> rpc_;
  std::unique_ptr<HttpServer> http_;
  bool ready_ = false;
};

}  // namespace swage::policy
