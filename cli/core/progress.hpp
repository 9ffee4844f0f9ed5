#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace swage::cli {

/// What the progress display shows of a run: the fields of GET /api/v1/runs/{run} that it needs.
struct RunView {
  std::string name, phase, stage, progress, pause_reason, pause_message;
  std::int64_t step = 0, steps_total = 0, weight_version = 0;
  std::int64_t running = 0, completed = 0, infrastructure_failed = 0;
  std::string reward_mean;  ///< as text; empty before the first
  std::string length_mean;  ///< tokens of a trajectory lately, as text; empty before the first
  std::int64_t leased = 0, waiting = 0;  ///< evaluations on a GPU, and in its queue
  bool operator==(const RunView&) const = default;
};

/// Takes what is there; missing fields stay empty.
RunView run_view_from(const nlohmann::json& run);

/// One line without a line end, at most `width` characters:
/// `3:20  agentic 3/8 | reward 2.10 | length 311 | rollouts 97 done, 4 running | leases 1, 2 wait |
/// weights 12`.
std::string progress_line(const RunView& view, double seconds, std::size_t width);

/// The line without what changes all the time (clock, length, leases): where lines are not
/// rewritten another one is worth printing when this differs.
std::string stable_line(RunView view, std::size_t width);

/// The bodies of the POSTs to …/resume that let this run go on: one for a suspension, one for a
/// guardrail's pause. Empty: neither paused nor suspended.
std::vector<std::string> resume_bodies(const nlohmann::json& run);

/// The closing lines of a run, from its summary.json. out: where the run lies.
std::string summary_text(const nlohmann::json& summary, const std::string& out);

}  // namespace swage::cli
