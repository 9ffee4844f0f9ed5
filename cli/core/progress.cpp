#include "cli/core/progress.hpp"

#include <algorithm>
#include <cstdio>

#include "common/base/json_text.hpp"

namespace swage::cli {
namespace {

std::string text_of(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::int64_t number_of(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<std::int64_t>() : 0;
}

nlohmann::json object_of(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_object() ? *found : nlohmann::json::object();
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<long>(std::max(0.0, seconds));
  char text[32];
  std::snprintf(text, sizeof text, "%ld:%02ld", whole / 60, whole % 60);
  return text;
}

std::string decimal(const nlohmann::json& value, int digits) {
  if (!value.is_number()) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, value.get<double>());
  return text;
}

nlohmann::json field(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? nlohmann::json() : *found;
}

}  // namespace

RunView run_view_from(const nlohmann::json& run) {
  const auto status = run.contains("status") ? object_of(run, "status") : run;
  RunView view;
  view.name = text_of(run, "name");
  view.phase = text_of(status, "phase");
  view.stage = text_of(status, "stage");
  view.progress = text_of(status, "progress");
  view.step = number_of(status, "step");
  view.steps_total = number_of(status, "stepsTotal");
  view.weight_version = number_of(status, "weightVersion");
  view.reward_mean = text_of(status, "rewardMean");
  const auto rollouts = object_of(status, "rollouts");
  view.length_mean = text_of(status, "lengthMean");
  const auto leases = object_of(status, "leases");
  view.leased = number_of(leases, "leased");
  view.waiting = number_of(leases, "waiting");
  view.running = number_of(rollouts, "running");
  view.completed = number_of(rollouts, "completed");
  view.infrastructure_failed = number_of(rollouts, "infrastructureFailed");
  const auto pause = object_of(status, "pause");
  view.pause_reason = text_of(pause, "reason");
  view.pause_message = text_of(pause, "message");
  return view;
}

std::string progress_line(const RunView& view, double seconds, std::size_t width) {
  std::string line = clock_text(seconds) + "  " + (view.stage.empty() ? view.phase : view.stage);
  if (view.steps_total > 0)
    line += " " + std::to_string(view.step) + "/" + std::to_string(view.steps_total);
  if (!view.reward_mean.empty()) line += " | reward " + view.reward_mean;
  if (!view.length_mean.empty()) line += " | length " + view.length_mean;
  line += " | rollouts " + std::to_string(view.completed) + " done, " +
          std::to_string(view.running) + " running";
  if (view.infrastructure_failed > 0)
    line += ", " + std::to_string(view.infrastructure_failed) + " re-issued";
  if (view.leased + view.waiting > 0)
    line += " | leases " + std::to_string(view.leased) +
            (view.waiting > 0 ? ", " + std::to_string(view.waiting) + " wait" : "");
  line += " | weights " + std::to_string(view.weight_version);
  if (!view.pause_reason.empty())
    line += " | PAUSED " + view.pause_reason + ": " + view.pause_message;
  if (!view.progress.empty()) line += " | " + view.progress;
  if (line.size() > width) line.resize(width);
  return line;
}

std::string stable_line(RunView view, std::size_t width) {
  view.length_mean.clear();
  view.leased = view.waiting = 0;
  return progress_line(view, 0, width);
}

std::vector<std::string> resume_bodies(const nlohmann::json& run) {
  const auto status = object_of(run, "status");
  std::vector<std::string> out;
  if (text_of(status, "phase") == "Suspended") out.emplace_back();
  const auto pause = object_of(status, "pause");
  if (!pause.empty()) out.push_back(json_text(nlohmann::json{{"pause_id", text_of(pause, "id")}}));
  return out;
}

std::string summary_text(const nlohmann::json& summary, const std::string& out) {
  const auto compile = object_of(summary, "compile");
  std::string text;
  const auto row = [&text](const std::string& name, const std::string& value) {
    text += "  " + name + std::string(name.size() < 24 ? 24 - name.size() : 1, ' ') + value + "\n";
  };
  text += "run " + text_of(summary, "run") + " has ended\n";
  row("time", clock_text(field(summary, "wall_seconds").is_number()
                             ? summary.at("wall_seconds").get<double>()
                             : 0.0));
  const auto count = text_of(summary, "evaluation_rollouts");
  const auto reward = [&summary, &count](const char* name) {
    const auto value = decimal(field(summary, name), 2);
    return count.empty() || value == "-" ? value
                                         : value + " (mean of " + count + " evaluation rollouts)";
  };
  row("reward after RFT", reward("reward_after_rft"));
  row("reward at the end", reward("reward_final"));
  row("rollouts", text_of(summary, "rollouts") + " (" +
                      text_of(summary, "infrastructure_failures") + " lost and re-issued)");
  row("evaluations", text_of(summary, "evaluations"));
  const auto verdicts = object_of(summary, "verdicts");  // items() borrows it
  for (const auto& [code, number] : verdicts.items()) row("  " + code, json_text(number));
  row("compilations", text_of(compile, "count") + " (" + text_of(compile, "cache_hits") +
                          " of their units from the cache)");
  row("isolation, trust", text_of(summary, "isolation") + ", " + text_of(summary, "trust"));
  row("seed", text_of(summary, "seed"));
  text += "\n  trajectories    swage show ROLLOUT --out " + out + "   (swage show --out " + out +
          " lists them)\n";
  text += "  steps           " + out + "/steps.csv, " + out + "/reward.png\n";
  text += "  summary         " + out + "/summary.json\n";
  return text;
}

}  // namespace swage::cli
