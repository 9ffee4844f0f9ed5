#include "common/http/health.hpp"

#include <utility>

namespace swage {
namespace {

Task<HttpResponse> metrics_text(const Metrics& metrics) {
  HttpResponse response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = metrics.text();
  co_return response;
}

Task<HttpResponse> answer(HttpResponse response) { co_return response; }

}  // namespace

void add_health_routes(HttpRouter& router, const Metrics& metrics,
                       std::function<std::string()> why_not_ready) {
  router.get("/metrics", [&metrics](HttpRequest) { return metrics_text(metrics); }, true);
  router.get("/healthz", [](HttpRequest) { return answer(HttpResponse::text("ok\n")); }, true);
  router.get(
      "/readyz",
      [why = std::move(why_not_ready)](HttpRequest) {
        const auto reason = why();
        return answer(reason.empty() ? HttpResponse::text("ok\n")
                                     : HttpResponse::text(reason + "\n", 503));
      },
      true);
}

}  // namespace swage
