#include "cli/app/query_commands.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/app/find_system.hpp"
#include "cli/core/progress.hpp"
#include "cli/core/show_text.hpp"
#include "common/asio/process.hpp"
#include "common/asio/root.hpp"
#include "common/base/files.hpp"

namespace swage::cli {
namespace {

using namespace std::chrono_literals;

int fail(const char* command, const std::string& what, int code = 1) {
  std::fprintf(stderr, "swage %s: %s\n", command, what.c_str());
  return code;
}

/// One request on an event loop of its own.
Result<HttpResponse, std::string> ask(const HttpTarget& target, const std::string& method,
                                      const std::string& path, const std::string& body = "") {
  Result<HttpResponse, std::string> answer = tl::unexpected(std::string("not asked"));
  struct Ask {
    static Task<int> run(HttpTarget at, std::string verb, std::string where, std::string content,
                         StopSource& stop, Result<HttpResponse, std::string>& out) {
      out = co_await http_request(at, verb, where, content, std::chrono::steady_clock::now() + 30s,
                                  stop);
      co_return 0;
    }
  };
  run_root([&](asio::any_io_executor,
               StopSource& stop) { return Ask::run(target, method, path, body, stop, answer); },
           5s);
  return answer;
}

/// The body as JSON, or a sentence that says what the server answered.
Result<nlohmann::json, std::string> ask_json(const HttpTarget& target, const std::string& method,
                                             const std::string& path,
                                             const std::string& body = "") {
  const auto answer = ask(target, method, path, body);
  if (!answer) return tl::unexpected(answer.error());
  auto json = nlohmann::json::parse(answer->body, nullptr, false);
  if (answer->status >= 400)
    return tl::unexpected(json.is_object()
                              ? json.value("title", "") + ": " + json.value("detail", "")
                              : "status " + std::to_string(answer->status));
  if (json.is_discarded()) return tl::unexpected(std::string("the answer is not JSON"));
  return json;
}

/// What `swage-learner --read-log` prints about a run that has ended.
Result<nlohmann::json, std::string> read_log(const std::filesystem::path& out,
                                             const std::string& rollout) {
  std::string command = "'" + (binary_directory() / "swage-learner").string() + "' --read-log '" +
                        out.string() + "' --tokenizer '" +
                        (share_directory() / "tiny" / "tokenizer.json").string() + "'";
  if (!rollout.empty()) command += " --rollout '" + rollout + "'";
  std::FILE* pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) return tl::unexpected(std::string("cannot start swage-learner"));
  std::string text;
  char block[65536];
  for (std::size_t got = 0; (got = std::fread(block, 1, sizeof block, pipe)) > 0;)
    text.append(block, got);
  if (::pclose(pipe) != 0) return tl::unexpected("no such trajectory in " + out.string());
  auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) return tl::unexpected(std::string("the log's reader printed no JSON"));
  return json;
}

bool plain_id(const std::string& id) {
  return id.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
         std::string::npos;
}

Result<nlohmann::json, std::string> fetch_rollouts(const Where& where, const std::string& rollout) {
  if (where.server.empty()) {
    const auto out = find_out(where);
    if (!out) return tl::unexpected(out.error());
    const auto run = read_local_run(*out);
    if (!run) return tl::unexpected(run.error());
    if (!run->alive) return read_log(*out, rollout);
    return ask_json(
        run->http, "GET",
        rollout.empty() ? "/api/v1/runs/" + run->run + "/rollouts" : "/api/v1/rollouts/" + rollout);
  }
  const auto target = find_server(where);
  if (!target) return tl::unexpected(target.error());
  if (rollout.empty())
    return tl::unexpected(std::string("name a rollout, or a run's directory with --out"));
  return ask_json(*target, "GET", "/api/v1/rollouts/" + rollout);
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
    std::printf("%s\n", page.dump(2).c_str());
  } else if (whole) {
    std::fputs(summary_text(numbers, run.out.string()).c_str(), stdout);
  } else {
    std::printf("run %s: %s; `swage run --local --resume --out %s` goes on with it\n",
                run.run.c_str(), run.state.c_str(), run.out.c_str());
  }
  return 0;
}

}  // namespace

int status_command(const QueryOptions& options, const std::string& run) {
  if (!plain_id(run)) return fail("status", "`" + run + "` is not a run's name", 64);
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
  if (options.json || !run.empty()) {
    std::printf("%s\n", json->dump(2).c_str());
    return 0;
  }
  const auto items = json->is_array() ? *json : json->value("items", nlohmann::json::array());
  for (const auto& item : items) {
    const auto view = run_view_from(item);
    std::printf("%-24s %-10s %s\n", view.name.c_str(), view.phase.c_str(),
                progress_line(view, 0, 200).c_str());
  }
  return 0;
}

int show_command(const QueryOptions& options, const std::string& rollout) {
  if (!plain_id(rollout)) return fail("show", "`" + rollout + "` is not a rollout id", 64);
  const auto json = fetch_rollouts(where_from(options.server, options.out), rollout);
  if (!json) return fail("show", json.error());
  if (options.json) {
    std::printf("%s\n", json->dump(2).c_str());
  } else {
    std::fputs((rollout.empty() ? rollout_list_text(*json) : trajectory_text(*json)).c_str(),
               stdout);
  }
  return 0;
}

int resume_command(const QueryOptions& options, const std::string& run, bool suspend) {
  const char* name = suspend ? "suspend" : "resume";
  if (!plain_id(run)) return fail(name, "`" + run + "` is not a run's name", 64);
  const auto target = find_server(where_from(options.server, options.out));
  if (!target) return fail(name, target.error());
  std::string body;
  if (!suspend) {
    const auto status = ask_json(*target, "GET", "/api/v1/runs/" + run);
    if (!status) return fail(name, status.error());
    const auto& inner = status->contains("status") ? status->at("status") : *status;
    if (!inner.contains("pause") || !inner.at("pause").is_object())
      return fail(name, run + " is not paused");
    body = nlohmann::json{{"pause_id", inner.at("pause").value("id", "")}}.dump();
  }
  const auto done = ask_json(*target, "POST", "/api/v1/runs/" + run + "/" + name, body);
  if (!done) return fail(name, done.error());
  std::printf("%s: %s\n", run.c_str(), suspend ? "suspended" : "goes on");
  return 0;
}

}  // namespace swage::cli
