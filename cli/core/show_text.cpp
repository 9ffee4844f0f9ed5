#include "cli/core/show_text.hpp"

#include <algorithm>
#include <cstdio>

#include "cli/core/verdict_text.hpp"

namespace swage::cli {
namespace {

std::string text_of(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return "-";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

nlohmann::json array_of(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_array() ? *found : nlohmann::json::array();
}

/// Policy text travels as JSON inside tool calls: shown with real line ends it can be read.
std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == 'n') {
      out += '\n';
      ++i;
    } else if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '"') {
      out += '"';
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string indented(const std::string& text, const std::string& by) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    out += by + text.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return out;
}

std::string padded(const std::string& text, std::size_t width) {
  return text.size() >= width ? text + " " : text + std::string(width - text.size(), ' ');
}

}  // namespace

std::string trajectory_text(const nlohmann::json& trajectory) {
  std::string out =
      text_of(trajectory, "rollout_id") + " attempt " + text_of(trajectory, "attempt") + "\n";
  out += "task " + text_of(trajectory, "task_id") + ", " + text_of(trajectory, "stage") + ", " +
         text_of(trajectory, "actor") + ", " + text_of(trajectory, "tokens") + " tokens (" +
         text_of(trajectory, "sampled_tokens") + " sampled), ended by " +
         text_of(trajectory, "stop_reason") + "\n";
  for (const auto& span : array_of(trajectory, "version_spans"))
    out += "tokens " + text_of(span, "begin") + "–" + text_of(span, "end") + " by weight version " +
           text_of(span, "weight_version") + "\n";
  if (text_of(trajectory, "infrastructure_failure") != "")
    out += "infrastructure failure: " + text_of(trajectory, "infrastructure_failure") + "\n";
  out += "\n── prompt\n" + indented(text_of(trajectory, "prompt"), "  ");
  int number = 0;
  for (const auto& turn : array_of(trajectory, "turns")) {
    out += "\n── turn " + std::to_string(++number) + " · policy, " +
           text_of(turn, "policy_tokens") + " tokens\n";
    out += indented(unescaped(text_of(turn, "policy")), "  ");
    for (const auto& call : array_of(turn, "calls"))
      out += "  → " + text_of(call, "name") +
             (call.value("schema_valid", true) ? "" : " (does not agree with the tool's schema)") +
             "\n";
    if (turn.value("observation_tokens", 0) > 0)
      out += "  ·· observation, " + text_of(turn, "wall_ms") + " ms\n" +
             indented(text_of(turn, "observation"), "  │ ");
  }
  const auto verdicts = array_of(trajectory, "verdicts");
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const bool last = trajectory.value("final_verdict", std::size_t{9999}) == i;
    out += "\n── verdict " + std::to_string(i + 1) + (last ? " (decides the reward)" : "") + "\n" +
           indented(verdict_text(verdicts[i]), "  ");
  }
  for (const auto& reward : array_of(trajectory, "rewards"))
    out +=
        "\nreward " + text_of(reward, "value") + " at token " + text_of(reward, "position") + "\n";
  return out;
}

std::string rollout_list_text(const nlohmann::json& rollouts) {
  const auto items = rollouts.is_array() ? rollouts : array_of(rollouts, "items");
  std::string out = padded("ROLLOUT", 34) + padded("TASK", 14) + padded("TURNS", 7) +
                    padded("TOKENS", 8) + padded("REWARD", 8) + "ENDED BY\n";
  for (const auto& item : items)
    out += padded(text_of(item, "rollout_id"), 34) + padded(text_of(item, "task_id"), 14) +
           padded(text_of(item, "turns"), 7) + padded(text_of(item, "tokens"), 8) +
           padded(text_of(item, "reward"), 8) + text_of(item, "stop_reason") +
           (item.value("infrastructure", false) ? " (lost, kept for diagnosis)" : "") + "\n";
  return out;
}

}  // namespace swage::cli
