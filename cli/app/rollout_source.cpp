#include "cli/app/rollout_source.hpp"

#include "cli/app/api_call.hpp"
#include "common/base/command.hpp"

namespace swage::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kPage = "1000";  // the server's largest

/// What `swage-learner --read-log` prints about a run that has ended. Errors: what it complains of.
Result<json, std::string> read_log(const LocalRun& run, const std::string& rollout) {
  std::vector<std::string> command{(binary_directory() / "swage-learner").string(), "--read-log",
                                   run.out.string(), "--tokenizer", run.tokenizer.string()};
  if (!rollout.empty()) command.insert(command.end(), {"--rollout", rollout});
  auto [exit_code, text] = run_command(std::move(command), CommandOutput::both);
  if (exit_code < 0 && text.empty())
    return tl::unexpected(std::string("cannot start swage-learner"));
  const auto last = text.rfind('\n');  // the answer is one line; notes may stand before it
  text.erase(0, last == std::string::npos ? 0 : last + 1);
  if (exit_code != 0) {
    constexpr std::string_view kProgram = "swage-learner: ";
    return tl::unexpected(text.starts_with(kProgram) ? text.substr(kProgram.size()) : text);
  }
  auto value = json::parse(text, nullptr, false);
  if (value.is_discarded()) return tl::unexpected(std::string("the log's reader printed no JSON"));
  return value;
}

/// All pages of one run's list are appended to `list`.
Result<void, std::string> add_pages(const HttpTarget& target, const std::string& run, json& list) {
  std::string cursor = "0";
  while (!cursor.empty()) {
    const auto page = ask_json(
        target, "GET", "/api/v1/runs/" + run + "/rollouts?limit=" + kPage + "&cursor=" + cursor);
    if (!page) return tl::unexpected(page.error());
    if (!page->is_object()) return tl::unexpected(std::string("the answer is no page"));
    for (const auto& item : page->value("items", json::array())) list["items"].push_back(item);
    const auto next = page->find("next_cursor");
    cursor = next != page->end() && next->is_string() ? next->get<std::string>() : "";
    if (cursor.empty())  // the newest state of what is on its way comes with the last page
      for (const auto& live : page->value("live", json::array())) list["live"].push_back(live);
  }
  return {};
}

json empty_list() { return {{"items", json::array()}, {"next_cursor", nullptr}}; }

Result<json, std::string> ask_for_all(const HttpTarget& target,
                                      const std::vector<std::string>& runs) {
  auto list = empty_list();
  list["live"] = json::array();
  for (const auto& run : runs)
    if (auto added = add_pages(target, run, list); !added) return tl::unexpected(added.error());
  return list;
}

Result<std::vector<std::string>, std::string> runs_of(const HttpTarget& target) {
  const auto page = ask_json(target, "GET", "/api/v1/runs");
  if (!page) return tl::unexpected(page.error());
  std::vector<std::string> out;
  if (page->is_object())
    for (const auto& run : page->value("items", json::array()))
      if (run.is_object()) out.push_back(run.value("name", ""));
  return out;
}

Result<LocalRun, std::string> local_run(const Where& where) {
  const auto out = find_out(where);
  if (!out) return tl::unexpected(out.error());
  return read_local_run(*out);
}

}  // namespace

Result<json, std::string> fetch_trajectory(const Where& where, const std::string& rollout) {
  const auto path = "/api/v1/rollouts/" + rollout;
  if (!where.server.empty()) {
    const auto target = find_server(where);
    if (!target) return tl::unexpected(target.error());
    return ask_json(*target, "GET", path);
  }
  const auto run = local_run(where);
  if (!run) return tl::unexpected(run.error());
  if (run->alive) return ask_json(run->http, "GET", path);
  return read_log(*run, rollout);
}

Result<json, std::string> list_trajectories(const Where& where) {
  if (!where.server.empty()) {
    const auto target = find_server(where);
    if (!target) return tl::unexpected(target.error());
    const auto runs = runs_of(*target);
    if (!runs) return tl::unexpected(runs.error());
    return ask_for_all(*target, *runs);
  }
  const auto run = local_run(where);
  if (!run) return tl::unexpected(run.error());
  if (run->alive) return ask_for_all(run->http, {run->run});
  auto list = empty_list();
  if (!fs::is_directory(run->out / "learner" / "log")) return list;  // ended before its first one
  auto lines = read_log(*run, "");
  if (!lines) return tl::unexpected(lines.error());
  list["items"] = std::move(*lines);
  return list;
}

}  // namespace swage::cli
