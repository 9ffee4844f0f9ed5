#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace swage::cli {

/// What the progress display shows of a run: the fields of GET /api/v1/runs/{run} that it needs.
struct RunView {
  std::string name, phase, stage, progress, pause_reason, pause_message;
  std::int64_t step = 0, steps_total = 0, weight_version = 0;
  std::int64_t running = 0, completed = 0, infrastructure_failed = 0;
  std::string reward_mean;  ///< as text; empty before the first
  bool operator==(const RunView&) const = default;
};

/// Takes what is there; missing fields stay empty.
RunView run_view_from(const nlohmann::json& run);

/// One line without a line end, at most `width` characters:
/// `agentic 3/8 | reward 2.10 | rollouts 97 done, 4 running | weights 12`.
std::string progress_line(const RunView& view, double seconds, std::size_t width);

/// The closing lines of a run, from its summary.json. out: where the run lies.
std::string summary_text(const nlohmann::json& summary, const std::string& out);

}  // namespace swage::cli
