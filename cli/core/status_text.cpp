#include "cli/core/status_text.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "cli/core/progress.hpp"
#include "common/base/json_text.hpp"

namespace swage::cli {
namespace {

using nlohmann::json;

json part(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? *found : json();
}

std::string text_of(const json& object, const char* name) {
  const auto value = part(object, name);
  if (value.is_null()) return "-";
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(text.size() < width ? width - text.size() : 1, ' ');
}

/// Conditions that say of something bad that it is so, or of something good that it is not.
bool is_trouble(const json& condition) {
  const auto type = text_of(condition, "type");
  const bool status = text_of(condition, "status") == "True";
  if (type == "Complete") return text_of(condition, "reason") == "Failed";
  const bool good = type == "Accepted" || type == "PoolAvailable" || type == "WorkloadsReady" ||
                    type == "SandboxesHealthy" || type == "LearnerReachable";
  return good != status;
}

std::string troubles(const json& status) {
  std::string out;
  for (const auto& condition : part(status, "conditions")) {
    if (!is_trouble(condition)) continue;
    const auto message = text_of(condition, "message");
    out += "  ! " + text_of(condition, "type") + " is " + text_of(condition, "status") + " (" +
           text_of(condition, "reason") + ")" +
           (message.empty() || message == "-" ? "" : ": " + message) + "\n";
  }
  return out;
}

std::string pod_table(const json& pods) {
  if (!pods.is_array() || pods.empty()) return "";
  std::string out = "\n  " + padded("PROCESS", 32) + padded("STATE", 10) + padded("PID", 9) +
                    padded("RESTARTS", 10) + "HTTP\n";
  for (const auto& pod : pods)
    out += "  " + padded(text_of(pod, "name"), 32) + padded(text_of(pod, "phase"), 10) +
           padded(text_of(pod, "pid"), 9) + padded(text_of(pod, "restarts"), 10) +
           text_of(pod, "http") + "\n";
  return out;
}

}  // namespace

double seconds_since(const std::string& rfc3339, std::int64_t now) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  if (std::sscanf(rfc3339.c_str(), "%4d-%2u-%2uT%2d:%2d:%2dZ", &year, &month, &day, &hour, &minute,
                  &second) != 6)
    return 0;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok()) return 0;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t then = ((std::int64_t{days} * 24 + hour) * 60 + minute) * 60 + second;
  return static_cast<double>(std::max<std::int64_t>(0, now - then));
}

double run_seconds(const json& run, std::int64_t now) {
  const auto status = part(run, "status");
  const auto ended = text_of(status, "completionTime");
  if (const auto end = seconds_since(ended, now); end > 0) now -= static_cast<std::int64_t>(end);
  return seconds_since(text_of(status, "startTime"), now);
}

std::string run_text(const json& run, double seconds) {
  const auto status = part(run, "status");
  const auto spec = part(run, "spec");
  const auto rollouts = part(status, "rollouts");
  const auto sandboxes = part(status, "sandboxes");
  std::string out = "run " + text_of(run, "name") + ": " + text_of(status, "phase") + "\n";
  const auto row = [&out](const char* name, const std::string& value) {
    out += "  " + padded(name, 18) + value + "\n";
  };
  row("progress", progress_line(run_view_from(run), seconds, 200));
  row("uid", text_of(run, "uid"));
  row("model, seed", text_of(spec, "model") + ", " + text_of(spec, "seed"));
  row("reward", text_of(status, "rewardMean") + " now, " + text_of(status, "rewardAfterRft") +
                    " after RFT, " + text_of(status, "rewardFinal") + " at the end");
  row("rollouts", text_of(rollouts, "completed") + " done, " + text_of(rollouts, "running") +
                      " running, " + text_of(rollouts, "reissued") + " re-issued");
  row("sandboxes",
      text_of(sandboxes, "claimed") + " in use, " + text_of(sandboxes, "warm") + " warm");
  row("pool", text_of(spec, "pool"));
  return out + troubles(status) + pod_table(part(run, "pods"));
}

}  // namespace swage::cli
