#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "common/asio/clock.hpp"
#include "common/http/router.hpp"
#include "controller/app/event_feed.hpp"
#include "controller/app/run_api.hpp"

namespace swage::controller {

/// The routes of docs/openapi.json (design wire.md, section 3). Holds nothing but borrowed parts.
class HttpApi {
 public:
  HttpApi(RunIndex& index, EventFeed& events, Clock& clock, StopSource& stop);
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

  RunApi* find(const std::string& name);

  RunIndex& index_;
  EventFeed& events_;
  Clock& clock_;
  StopSource& stop_;
};

}  // namespace swage::controller
