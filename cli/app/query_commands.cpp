#include "cli/app/query_commands.hpp"

#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "cli/app/api_call.hpp"
#include "cli/app/find_system.hpp"
#include "cli/app/rollout_source.hpp"
#include "cli/core/progress.hpp"
#include "cli/core/show_text.hpp"
#include "cli/core/status_text.hpp"
#include "common/base/exit_code.hpp"
#include "common/base/files.hpp"
#include "common/base/json_text.hpp"

namespace swage::cli {
namespace {

int fail(const char* command, const std::string& what, int code = 1) {
  std::fprintf(stderr, "swage %s: %s\n", command, what.c_str());
  return code;
}

bool plain_id(const std::string& id) {
  return id.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
         std::string::npos;
}

/// What is left of a local run whose controller is gone: its state and its books.
int ended_status(const LocalRun& run, const QueryOptions& options) {
  const bool whole = run.state == "succeeded";
  const auto books = read_file(run.out / (whole ? "summary.json" : "totals.json"));
  const auto parsed = books ? nlohmann::json::parse(*books, nullptr, false) : nlohmann::json();
  const auto numbers = parsed.is_object() ? parsed : nlohmann::json::object();
  if (options.json) {
    const nlohmann::json item{{"name", run.run},
                              {"run_uid", run.run_uid},
                              {"out", run.out.string()},
                              {"state", run.state},
                              {whole ? "summary" : "totals", numbers}};
    const nlohmann::json page{{"items", nlohmann::json::array({item})}, {"next_cursor", nullptr}};
    std::printf("%s\n", json_text(page, 2).c_str());
  } else if (whole) {
    std::fputs(summary_text(numbers, run.out.string()).c_str(), stdout);
  } else {
    std::printf("run %s: %s; `swage run --resume --out %s` goes on with it\n", run.run.c_str(),
                run.state.c_str(), run.out.c_str());
  }
  return 0;
}

int say_done(const QueryOptions& options, const std::string& run, const char* what,
             const std::string& sentence) {
  if (options.json) {
    std::printf("%s\n", json_text(nlohmann::json{{"run", run}, {what, true}}, 2).c_str());
  } else {
    std::printf("%s: %s\n", run.c_str(), sentence.c_str());
  }
  return 0;
}

}  // namespace

int status_command(const QueryOptions& options, const std::string& run) {
  if (!plain_id(run))
    return fail("status", "`" + run + "` is not a run's name", exit_code::kBadInput);
  const auto where = where_from(options.server, options.out);
  if (where.server.empty()) {
    const auto out = find_out(where);
    if (!out) return fail("status", out.error());
    const auto local = read_local_run(*out);
    if (!local) return fail("status", local.error());
    if (!run.empty() && run != local->run)
      return fail("status",
                  "no run `" + run + "` in " + out->string() + "; it holds `" + local->run + "`");
    if (!local->alive) return ended_status(*local, options);
  }
  const auto target = find_server(where);
  if (!target) return fail("status", target.error());
  const auto json = ask_json(*target, "GET", run.empty() ? "/api/v1/runs" : "/api/v1/runs/" + run);
  if (!json) return fail("status", json.error());
  if (options.json) {
    std::printf("%s\n", json->dump(2).c_str());
    return 0;
  }
  const std::int64_t now = std::time(nullptr);
  if (!run.empty()) {
    std::fputs(run_text(*json, run_seconds(*json, now)).c_str(), stdout);
    return 0;
  }
  const auto items = json->is_array() ? *json : json->value("items", nlohmann::json::array());
  for (const auto& item : items) {
    const auto view = run_view_from(item);
    std::printf("%-24s %-10s %s\n", view.name.c_str(), view.phase.c_str(),
                progress_line(view, run_seconds(item, now), 200).c_str());
  }
  return 0;
}

int show_command(const QueryOptions& options, const std::string& rollout) {
  if (!plain_id(rollout))
    return fail("show", "`" + rollout + "` is not a rollout id", exit_code::kBadInput);
  const auto where = where_from(options.server, options.out);
  const auto json = rollout.empty() ? list_trajectories(where) : fetch_trajectory(where, rollout);
  if (!json) return fail("show", json.error());
  if (options.json) {
    std::printf("%s\n", json->dump(2).c_str());
  } else {
    std::fputs((rollout.empty() ? rollout_list_text(*json) : trajectory_text(*json)).c_str(),
               stdout);
  }
  return 0;
}

int resume_command(const QueryOptions& options, const std::string& run) {
  if (!plain_id(run))
    return fail("resume", "`" + run + "` is not a run's name", exit_code::kBadInput);
  const auto target = find_server(where_from(options.server, options.out));
  if (!target) return fail("resume", target.error());
  const auto at = "/api/v1/runs/" + run;
  const auto found = ask_json(*target, "GET", at);
  if (!found) return fail("resume", found.error());
  const auto bodies = resume_bodies(*found);
  if (bodies.empty()) return fail("resume", run + " is neither paused nor suspended");
  for (const auto& body : bodies)
    if (const auto done = ask_json(*target, "POST", at + "/resume", body); !done)
      return fail("resume", done.error());
  return say_done(options, run, "resumed", "goes on");
}

int suspend_command(const QueryOptions& options, const std::string& run) {
  if (!plain_id(run))
    return fail("suspend", "`" + run + "` is not a run's name", exit_code::kBadInput);
  const auto target = find_server(where_from(options.server, options.out));
  if (!target) return fail("suspend", target.error());
  const auto done = ask_json(*target, "POST", "/api/v1/runs/" + run + "/suspend");
  if (!done) return fail("suspend", done.error());
  return say_done(
      options, run, "suspended",
      "suspended: running rollouts end, no new ones start; `swage resume " + run + "` goes on");
}

}  // namespace swage::cli
