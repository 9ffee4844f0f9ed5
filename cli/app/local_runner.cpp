#include "cli/app/local_runner.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/app/find_system.hpp"
#include "cli/app/follow.hpp"
#include "cli/core/progress.hpp"
#include "common/asio/clock.hpp"
#include "common/asio/gate.hpp"
#include "common/asio/process.hpp"
#include "common/base/command.hpp"
#include "common/base/exit_code.hpp"
#include "common/base/files.hpp"
#include "common/base/json_text.hpp"

namespace swage::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// With less free space than a checkpoint takes the disk counts as full.
constexpr std::uintmax_t kFullBelow = 64U << 20;
constexpr std::size_t kLogShown = 4000;

/// The run of this very controller: known once it has written run.json.
std::optional<LocalRun> started_run(const fs::path& out, int controller) {
  auto run = read_local_run(out);
  if (!run || run->pid != controller || run->http.port.empty()) return std::nullopt;
  return *run;
}

void draw_plot(const fs::path& out) {
  const auto python = cache_directory() / "venv" / "bin" / "python";
  const auto script = share_directory() / "plot" / "reward_plot.py";
  if (!fs::exists(out / "steps.csv") || !fs::exists(python)) return;
  const auto drawn = run_command({python.string(), script.string(), (out / "steps.csv").string(),
                                  (out / "reward.png").string()},
                                 CommandOutput::none);
  if (drawn.exit_code != 0)
    std::fprintf(stderr,
                 "(reward.png could not be drawn: is matplotlib in the Python environment? "
                 "`make setup` installs it)\n");
}

std::string go_on(const fs::path& out) {
  return "`swage run --resume --out " + out.string() + "` goes on";
}

}  // namespace

Task<int> LocalRunner::run(asio::any_io_executor strand, StopSource& stop) {
  ProcessSpec spec;
  spec.argv = arguments();
  spec.env = current_environment();
  spec.log = log_.path();
  auto started = Process::start(strand, spec);
  if (!started) {
    std::fprintf(stderr, "swage run: %s\n", started.error().message.c_str());
    log_.undo();
    co_return exit_code::kMissing;
  }
  auto& controller = **started;
  StopSource done;
  Gate gate(strand, done);
  const auto hook = stop.on_stop([&controller] { controller.signal(SIGTERM, false); });
  const int pid = controller.pid();
  if (!options_.json) std::ignore = gate.spawn("follow", follow(pid, done));
  const int status = co_await controller.wait();
  done.request(StopReason::requested);
  co_await gate.join();
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  report(code, status, stop.stopping(), started_run(out_, pid).has_value());
  co_return code;
}

std::vector<std::string> LocalRunner::arguments() const {
  const auto file = options_.file.empty() ? out_ / "run.yaml" : fs::absolute(options_.file);
  std::vector<std::string> argv{(binary_directory() / "swage-controller").string(), "--out",
                                out_.string(), "--run", file.string()};
  if (options_.resume) argv.emplace_back("--resume");
  if (options_.evaluation_rollouts)
    argv.insert(argv.end(),
                {"--evaluation-rollouts", std::to_string(*options_.evaluation_rollouts)});
  return argv;
}

Task<> LocalRunner::follow(int pid, StopSource& done) {
  auto clock = make_steady_clock();
  while (!done.stopping()) {
    if (const auto run = started_run(out_, pid)) {
      co_await follow_run(
          [this, pid]() -> std::optional<HttpTarget> {
            const auto again = started_run(out_, pid);
            return again ? std::optional(again->http) : std::nullopt;
          },
          run->run, terminal_, *clock, done);
    }
    co_await clock->sleep_for(200ms, done);
  }
}

/// started: the controller has served, so that OUT holds its run.
void LocalRunner::report(int code, int status, bool stopped, bool started) {
  if (!options_.json) terminal_.print("");
  if (code != 0) {
    report_failure(code, status, started);
    return;
  }
  const auto run = read_local_run(out_);
  if (run && run->state == "succeeded") {
    close_run();
  } else if (options_.json) {
    print_record(run ? run->state : "stopped", code);
  } else if (run) {
    terminal_.print((stopped ? "stopped; " : "the run was stopped; ") + go_on(out_) +
                    " from here\n");
  } else {
    terminal_.print("stopped before there was anything to go on with\n");
  }
}

void LocalRunner::report_failure(int code, int status, bool started) {
  auto said = log_.said();
  if (started || code == 1) {
    std::fprintf(stderr, "swage run: the controller ended with %s; the end of its log (%s):\n",
                 describe_status(status).c_str(), log_.path().c_str());
    if (said.size() > kLogShown) said = said.substr(said.find('\n', said.size() - kLogShown) + 1);
  }
  std::fputs(said.c_str(), stderr);
  say_if_disk_is_full(code, started ? "then " + go_on(out_) : "then start again");
  if (options_.json && started) print_record("failed", code);
  if (!started && code != 1) log_.undo();  // refused before anything was made
}

/// What is known of a run without a summary, for --json.
void LocalRunner::print_record(const std::string& state, int code) {
  const auto run = read_local_run(out_);
  const nlohmann::json record{{"run", run ? run->run : ""},
                              {"run_uid", run ? run->run_uid : ""},
                              {"out", out_.string()},
                              {"state", state},
                              {"exit_code", code}};
  terminal_.print(json_text(record, 2) + "\n");
}

void LocalRunner::close_run() {
  draw_plot(out_);
  const auto content = read_file(out_ / "summary.json");
  if (!content) return;
  if (options_.json) {
    terminal_.print(*content);
    return;
  }
  const auto summary = nlohmann::json::parse(*content, nullptr, false);
  if (summary.is_object()) terminal_.print("\n" + summary_text(summary, out_.string()));
}

/// The controller's log may lie on the very disk that is full, so this is said here too.
void LocalRunner::say_if_disk_is_full(int code, const std::string& remedy) const {
  if (code != exit_code::kNotWritable) return;
  std::error_code failed;
  const auto space = fs::space(out_.parent_path(), failed);
  const auto inside = fs::space(out_, failed);  // OUT may be a disk of its own
  const auto free = failed ? space.available : inside.available;
  if (free < kFullBelow)
    std::fprintf(stderr, "swage run: the disk of %s has %ju KiB left: free some space there, %s\n",
                 out_.c_str(), free >> 10, remedy.c_str());
}

}  // namespace swage::cli
