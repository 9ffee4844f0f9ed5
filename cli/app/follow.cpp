#include "cli/app/follow.hpp"

#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/core/progress.hpp"

namespace swage::cli {

using namespace std::chrono_literals;

Task<> follow_run(std::function<std::optional<HttpTarget>()> target, std::string run,
                  Terminal& terminal, Clock& clock, StopSource& stop) {
  const auto began = clock.now();
  while (!stop.stopping()) {
    if (const auto at = target()) {
      const auto answer =
          co_await http_request(*at, "GET", "/api/v1/runs/" + run, "", clock.now() + 5s, stop);
      if (answer && answer->status == 200) {
        const auto json = nlohmann::json::parse(answer->body, nullptr, false);
        const auto view = run_view_from(json.is_object() ? json : nlohmann::json::object());
        const std::chrono::duration<double> passed = clock.now() - began;
        const auto line = progress_line(view, passed.count(), terminal.width());
        terminal.progress(line, stable_line(view, terminal.width()));
      }
    }
    co_await clock.sleep_for(1s, stop);
  }
}

}  // namespace swage::cli
