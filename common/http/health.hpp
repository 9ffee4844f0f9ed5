#pragma once

#include <functional>
#include <string>

#include "common/http/router.hpp"
#include "common/metrics/metrics.hpp"

namespace swage {

/// Adds /metrics, /healthz and /readyz, open to everybody. ready: empty when serving, else why not;
/// called on the server's strand. metrics outlives the server.
void add_health_routes(HttpRouter& router, const Metrics& metrics,
                       std::function<std::string()> why_not_ready);

}  // namespace swage
