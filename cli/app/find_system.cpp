#include "cli/app/find_system.hpp"

#include <signal.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "common/base/files.hpp"

namespace swage::cli {
namespace {

namespace fs = std::filesystem;

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

/// Whether a process lives and is a controller: a process id may be somebody else's by now.
bool is_controller(int pid) {
  if (::kill(pid, 0) != 0) return false;
  const auto command = read_file("/proc/" + std::to_string(pid) + "/cmdline");
  return !command || command->find("swage-controller") != std::string::npos;
}

}  // namespace

Where where_from(const std::string& server, const std::string& out) {
  const auto xdg = environment_or("XDG_STATE_HOME", "");
  const auto base =
      xdg.empty() ? fs::path(environment_or("HOME", "/tmp")) / ".local" / "state" : fs::path(xdg);
  return {server.empty() ? environment_or("SWAGE_SERVER", "") : server,
          out.empty() ? fs::path() : fs::absolute(out), base / "swage" / "runs"};
}

Result<fs::path, std::string> find_out(const Where& where) {
  if (!where.out.empty()) return where.out;
  fs::path newest;
  fs::file_time_type when;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(where.state, ignored)) {
    const auto written = fs::last_write_time(entry.path() / "run.json", ignored);
    if (!ignored && (newest.empty() || written > when)) {
      newest = entry.path();
      when = written;
    }
    ignored.clear();
  }
  if (newest.empty())
    return tl::unexpected("no run found under " + where.state.string() +
                          ": name one with --out DIR, or a server with --server URL");
  return newest;
}

Result<LocalRun, std::string> read_local_run(const fs::path& out) {
  const auto content = read_file(out / "run.json");
  if (!content)
    return tl::unexpected(out.string() + " is not a run's directory: " + content.error().message);
  const auto json = nlohmann::json::parse(*content, nullptr, false);
  if (json.is_discarded() || !json.is_object())
    return tl::unexpected((out / "run.json").string() + " is not a JSON object");
  LocalRun run;
  run.out = out;
  run.run = json.value("run", "");
  run.run_uid = json.value("run_uid", "");
  run.tokenizer = json.value("tokenizer", "");
  run.pid = json.value("pid", 0);
  run.state = json.value("state", "");
  const bool ended = run.state == "succeeded" || run.state == "failed" || run.state == "stopped";
  run.alive = !ended && run.pid > 0 && is_controller(run.pid);
  if (!ended && !run.alive) run.state = "died";
  if (auto target = parse_http_url("http://" + json.value("http", ""))) run.http = *target;
  if (auto token = read_file(out / "secrets" / "token")) run.http.token = trimmed(*token);
  return run;
}

Result<HttpTarget, std::string> find_server(const Where& where) {
  if (!where.server.empty()) {
    auto target = parse_http_url(where.server);
    if (target) target->token = environment_or("SWAGE_TOKEN", "");
    return target;
  }
  const auto out = find_out(where);
  if (!out) return tl::unexpected(out.error());
  auto run = read_local_run(*out);
  if (!run) return tl::unexpected(run.error());
  if (!run->alive)
    return tl::unexpected("the run in " + out->string() +
                          " is not running: start it again with `swage run --resume --out " +
                          out->string() + "`");
  return run->http;
}

Start Start::now() { return {std::time(nullptr), static_cast<int>(::getpid())}; }

fs::path new_out(const Where& where, const std::string& file, Start start) {
  char stamp[32];
  std::tm parts{};
  ::gmtime_r(&start.at, &parts);
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &parts);
  return where.state /
         (fs::path(file).stem().string() + "-" + stamp + "-" + std::to_string(start.process));
}

fs::path binary_directory() { return fs::read_symlink("/proc/self/exe").parent_path(); }

fs::path share_directory() { return binary_directory().parent_path() / "share" / "swage"; }

}  // namespace swage::cli
