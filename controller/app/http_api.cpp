#include "controller/app/http_api.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace swage::controller {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr std::uint32_t kPage = 100;
constexpr std::uint32_t kLargestPage = 1000;
constexpr auto kAnswerWithin = 10s;

json page_of(json items) { return {{"items", std::move(items)}, {"next_cursor", nullptr}}; }

/// A number of the query; nothing if it is malformed.
std::optional<std::uint64_t> query_number(const HttpRequest& request, const std::string& name,
                                          std::uint64_t fallback) {
  const auto found = request.query.find(name);
  if (found == request.query.end()) return fallback;
  std::uint64_t value = 0;
  const auto* end = found->second.data() + found->second.size();
  const auto [at, error] = std::from_chars(found->second.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

HttpResponse not_found(const std::string& what) {
  return HttpResponse::problem(404, "Not found", what);
}
HttpResponse bad_number(const std::string& name) {
  return HttpResponse::problem(400, "Bad request", name + " must be a whole number");
}

/// Where a watcher goes on: Last-Event-ID, else the query's cursor, else the start.
std::optional<std::uint64_t> event_cursor(HttpRequest request) {
  const auto last = request.headers.find("last-event-id");
  if (last != request.headers.end()) request.query["cursor"] = last->second;
  return query_number(request, "cursor", 0);
}

HttpResponse from(const Result<json, TrajectoryError>& result) {
  if (result) return HttpResponse::json(*result);
  if (result.error().code == TrajectoryErrc::not_found) return not_found(result.error().message);
  return HttpResponse::problem(503, "Learner not reachable",
                               result.error().message + "; try again in a moment");
}

}  // namespace

HttpApi::HttpApi(RunIndex& index, EventFeed& events, Clock& clock, StopSource& stop)
    : index_(index), events_(events), clock_(clock), stop_(stop) {}

RunApi* HttpApi::find(const std::string& name) {
  for (auto* run : index_.runs())
    if (run->run_name() == name) return run;
  return nullptr;
}

void HttpApi::add_routes(HttpRouter& router) {
  router.get("/api/v1/runs", [this](HttpRequest r) { return runs(std::move(r)); });
  router.get("/api/v1/runs/{run}", [this](HttpRequest r) { return run(std::move(r)); });
  router.get("/api/v1/runs/{run}/rollouts",
             [this](HttpRequest r) { return rollouts(std::move(r)); });
  router.get("/api/v1/rollouts/{id}", [this](HttpRequest r) { return rollout(std::move(r)); });
  router.get("/api/v1/pools", [this](HttpRequest r) { return pools(std::move(r)); });
  router.get("/api/v1/pools/{pool}", [this](HttpRequest r) { return pool(std::move(r)); });
  router.post("/api/v1/runs/{run}/resume", [this](HttpRequest r) { return resume(std::move(r)); });
  router.post("/api/v1/runs/{run}/suspend",
              [this](HttpRequest r) { return suspend(std::move(r)); });
  router.events(
      "/api/v1/events",
      [this](HttpRequest r, EventSink& sink, StopSource& stop) {
        return events(std::move(r), sink, stop);
      },
      [](const HttpRequest& r) -> std::optional<HttpResponse> {
        if (event_cursor(r)) return std::nullopt;
        return bad_number("cursor");
      });
}

Task<HttpResponse> HttpApi::runs(HttpRequest) {
  auto items = json::array();
  for (const auto* run : index_.runs()) items.push_back(run->run_view());
  co_return HttpResponse::json(page_of(std::move(items)));
}

Task<HttpResponse> HttpApi::run(HttpRequest request) {
  auto* run = find(request.params["run"]);
  if (run == nullptr) co_return not_found("no run `" + request.params["run"] + "` here");
  co_return HttpResponse::json(run->run_view());
}

Task<HttpResponse> HttpApi::rollouts(HttpRequest request) {
  auto* run = find(request.params["run"]);
  if (run == nullptr) co_return not_found("no run `" + request.params["run"] + "` here");
  const auto cursor = query_number(request, "cursor", 0);
  const auto limit = query_number(request, "limit", kPage);
  if (!cursor) co_return bad_number("cursor");
  if (!limit) co_return bad_number("limit");
  const auto most = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(*limit, 1, kLargestPage));
  auto page = co_await run->trajectories().list(*cursor, most, clock_.now() + kAnswerWithin, stop_);
  if (page) (*page)["live"] = run->live_rollouts();
  co_return from(page);
}

Task<HttpResponse> HttpApi::rollout(HttpRequest request) {
  const auto& id = request.params["id"];
  for (auto* run : index_.runs()) {  // an id begins with its run's uid
    auto found = co_await run->trajectories().get(id, clock_.now() + kAnswerWithin, stop_);
    if (found || found.error().code != TrajectoryErrc::not_found) co_return from(found);
  }
  co_return not_found("no rollout `" + id + "` here");
}

Task<HttpResponse> HttpApi::pools(HttpRequest) {
  auto items = json::array();
  for (auto& pool : index_.pool_views()) items.push_back(std::move(pool));
  co_return HttpResponse::json(page_of(std::move(items)));
}

Task<HttpResponse> HttpApi::pool(HttpRequest request) {
  const auto& asked = request.params["pool"];
  std::string known;
  for (auto& pool : index_.pool_views()) {
    const auto name = pool.value("name", "");
    const auto full = pool.value("namespace", "") + "." + name;
    if (asked == full || asked == name) co_return HttpResponse::json(std::move(pool));
    known += (known.empty() ? "" : ", ") + full;
  }
  co_return not_found("no pool `" + asked + "`; known is " + (known.empty() ? "none" : known));
}

Task<HttpResponse> HttpApi::resume(HttpRequest request) {
  auto* run = find(request.params["run"]);
  if (run == nullptr) co_return not_found("no run `" + request.params["run"] + "` here");
  std::string pause_id;
  if (!request.body.empty()) {
    const auto body = json::parse(request.body, nullptr, false);
    if (!body.is_object() || (body.contains("pause_id") && !body["pause_id"].is_string()))
      co_return HttpResponse::problem(400, "Bad request", "send {\"pause_id\": \"…\"}");
    pause_id = body.value("pause_id", "");
  }
  switch (run->resume(pause_id)) {
    case RunApi::Resumed::done:
      co_return HttpResponse::json({{"resumed", true}}, 202);
    case RunApi::Resumed::wrong_pause:
      co_return HttpResponse::problem(409, "Another pause",
                                      "the run is paused under another pause_id; read "
                                      "status.pause and decide again");
    case RunApi::Resumed::not_paused:
      break;
  }
  co_return HttpResponse::problem(409, "Not paused", "the run is neither paused nor suspended");
}

Task<HttpResponse> HttpApi::suspend(HttpRequest request) {
  auto* run = find(request.params["run"]);
  if (run == nullptr) co_return not_found("no run `" + request.params["run"] + "` here");
  run->suspend();
  co_return HttpResponse::json({{"suspended", true}}, 202);
}

Task<> HttpApi::events(HttpRequest request, EventSink& sink, StopSource& stop) {
  auto cursor = event_cursor(std::move(request)).value_or(0);  // add_routes refuses what is none
  while (!stop.stopping()) {
    const auto batch = events_.after(cursor, kPage);
    for (const auto& event : batch) {
      if (!co_await sink.send(std::to_string(event.id), event.type, event.data)) co_return;
      cursor = event.id;
    }
    if (batch.empty()) co_await events_.wait(stop);
  }
}

}  // namespace swage::controller
