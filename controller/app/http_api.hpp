#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "common/asio/clock.hpp"
#include "common/asio/event.hpp"
#include "common/http/router.hpp"
#include "controller/adapters/trajectory_client.hpp"
#include "controller/core/event_log.hpp"

namespace swage::controller {

/// What the HTTP API shows and does. Called on the server's strand.
class RunApi {
 public:
  virtual ~RunApi() = default;
  virtual nlohmann::json run_view() const = 0;
  virtual nlohmann::json live_rollouts() const = 0;
  virtual nlohmann::json pool_view() const = 0;
  virtual std::string run_name() const = 0;
  virtual std::string pool_name() const = 0;  ///< `<namespace>.<name>`
  enum class Resumed { done, wrong_pause, not_paused };
  /// Ends a suspension, or the guardrail pause of that id.
  virtual Resumed resume(const std::string& pause_id) = 0;
  virtual void suspend() = 0;
};

/// The routes of docs/openapi.json (design wire.md, section 3). Holds nothing but borrowed parts.
class HttpApi {
 public:
  HttpApi(RunApi& run, TrajectoryClient& trajectories, const EventLog& events, Event& event_added,
          Clock& clock, StopSource& stop);
  void add_routes(HttpRouter& router);

 private:
  Task<HttpResponse> runs(HttpRequest request);
  Task<HttpResponse> run(HttpRequest request);
  Task<HttpResponse> rollouts(HttpRequest request);
  Task<HttpResponse> rollout(HttpRequest request);
  Task<HttpResponse> pools(HttpRequest request);
  Task<HttpResponse> pool(HttpRequest request);
  Task<HttpResponse> resume(HttpRequest request);
  Task<HttpResponse> suspend(HttpRequest request);
  Task<> events(HttpRequest request, EventSink& sink, StopSource& stop);

  RunApi& run_;
  TrajectoryClient& trajectories_;
  const EventLog& events_;
  Event& event_added_;
  Clock& clock_;
  StopSource& stop_;
};

}  // namespace swage::controller
