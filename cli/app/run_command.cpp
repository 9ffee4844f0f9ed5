#include "cli/app/run_command.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/app/find_system.hpp"
#include "cli/app/follow.hpp"
#include "cli/app/terminal.hpp"
#include "cli/core/progress.hpp"
#include "common/asio/clock.hpp"
#include "common/asio/gate.hpp"
#include "common/asio/process.hpp"
#include "common/asio/root.hpp"

namespace swage::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int kUsage = 64;
constexpr int kDiskFull = 74;

int complain(const std::string& what) {
  std::fprintf(stderr, "swage run: %s\n", what.c_str());
  return kUsage;
}

/// The run's name, to ask the controller for: known once run.json is there.
std::optional<LocalRun> started_run(const fs::path& out, int controller) {
  auto run = read_local_run(out);
  if (!run || run->pid != controller || run->http.port.empty()) return std::nullopt;
  return *run;
}

void draw_plot(const fs::path& out, Terminal& terminal) {
  const auto python = cache_directory() / "venv" / "bin" / "python";
  const auto script = share_directory() / "plot" / "reward_plot.py";
  if (!fs::exists(out / "steps.csv") || !fs::exists(python)) return;
  const auto command = "'" + python.string() + "' '" + script.string() + "' '" +
                       (out / "steps.csv").string() + "' '" + (out / "reward.png").string() +
                       "' >/dev/null 2>&1";
  if (std::system(command.c_str()) != 0)
    terminal.print(
        "(reward.png could not be drawn: is matplotlib in the Python environment? "
        "`make setup` installs it)\n");
}

void close_run(const fs::path& out, bool json, Terminal& terminal) {
  draw_plot(out, terminal);
  const auto content = read_file(out / "summary.json");
  if (!content) return;
  if (json) {
    terminal.print(*content);
    return;
  }
  const auto summary = nlohmann::json::parse(*content, nullptr, false);
  if (summary.is_object()) terminal.print("\n" + summary_text(summary, out.string()));
}

/// Everything of one `swage run` after its options were checked.
class LocalRunner {
 public:
  LocalRunner(const RunOptions& options, fs::path out) : options_(options), out_(std::move(out)) {}

  Task<int> run(asio::any_io_executor strand, StopSource& stop) {
    ProcessSpec spec;
    spec.argv = arguments();
    spec.env = current_environment();
    spec.log = controller_log();
    auto started = Process::start(strand, spec);
    if (!started) {
      std::fprintf(stderr, "swage run: %s\n", started.error().message.c_str());
      co_return 69;
    }
    auto& controller = **started;
    StopSource done;
    Gate gate(strand, done);
    const auto hook = stop.on_stop([&controller] { controller.signal(SIGTERM, false); });
    if (!options_.json) {
      const int pid = controller.pid();
      std::ignore = gate.spawn("follow", follow(pid, done));
    }
    const int status = co_await controller.wait();
    done.request(StopReason::requested);
    co_await gate.join();
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    report(code, status, stop.stopping());
    co_return code;
  }

 private:
  std::vector<std::string> arguments() const {
    std::vector<std::string> argv{(binary_directory() / "swage-controller").string(), "--out",
                                  out_.string()};
    if (!options_.file.empty()) {
      argv.insert(argv.end(), {"--run", fs::absolute(options_.file).string()});
    } else {
      argv.insert(argv.end(), {"--run", (out_ / "run.yaml").string()});
    }
    if (options_.resume) argv.emplace_back("--resume");
    if (options_.evaluation_rollouts)
      argv.insert(argv.end(),
                  {"--evaluation-rollouts", std::to_string(*options_.evaluation_rollouts)});
    return argv;
  }

  /// Beside OUT, not in it: the controller refuses an OUT that holds files of somebody else.
  fs::path controller_log() const { return out_.string() + ".controller.log"; }

  Task<> follow(int pid, StopSource& done) {
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

  void report(int code, int status, bool stopped) {
    if (code == 0 && !stopped) {
      close_run(out_, options_.json, terminal_);
      return;
    }
    if (stopped) {
      terminal_.print("stopped; `swage run --local --resume --out " + out_.string() +
                      "` goes on from here\n");
      return;
    }
    terminal_.print("");
    if (!fs::exists(out_ / "run.json") && code != 1) {  // refused before anything was made
      if (const auto said = read_file(controller_log())) std::fputs(said->c_str(), stderr);
      say_if_disk(code, "then start again");
      std::error_code ignored;
      fs::remove(controller_log(), ignored);
      return;
    }
    std::fprintf(stderr, "swage run: the controller ended with %s; the end of its log (%s):\n",
                 describe_status(status).c_str(), controller_log().c_str());
    const auto log = read_file(controller_log());
    if (log) {
      const auto from = log->size() > 4000 ? log->find('\n', log->size() - 4000) + 1 : 0;
      std::fputs(log->substr(from).c_str(), stderr);
    }
    say_if_disk(code, "then `swage run --local --resume --out " + out_.string() + "` goes on");
  }

  /// The controller's log may lie on the very disk that is full.
  void say_if_disk(int code, const std::string& remedy) const {
    if (code == kDiskFull)
      std::fprintf(stderr, "swage run: %s could not be written: free some space there, %s\n",
                   out_.c_str(), remedy.c_str());
  }

  const RunOptions& options_;
  fs::path out_;
  Terminal terminal_;
};

}  // namespace

int run_command(const RunOptions& options) {
  const auto where = where_from(options.server, options.out);
  if (!options.local)
    return complain(
        "without --local a cluster is needed, and this build cannot reach one yet: "
        "add --local to run on this machine");
  if (options.file.empty() && !options.resume)
    return complain("name a TrainingRun file, e.g. examples/quickstart.yaml");
  if (!options.file.empty() && !fs::exists(options.file))
    return complain(options.file + " does not exist");
  fs::path out;
  if (options.resume) {
    const auto found = find_out(where);
    if (!found) return complain(found.error());
    out = *found;
    if (const auto run = read_local_run(out); !run) return complain(run.error());
  } else {
    out = where.out.empty() ? new_out(where, options.file) : where.out;
  }
  std::error_code e;
  fs::create_directories(out.parent_path(), e);
  if (e) return complain("cannot make " + out.parent_path().string() + ": " + e.message());
  LocalRunner runner(options, out);
  return run_root([&runner](asio::any_io_executor strand,
                            StopSource& stop) { return runner.run(std::move(strand), stop); },
                  120s, [] { return std::string("the controller (swage run)"); });
}

}  // namespace swage::cli
