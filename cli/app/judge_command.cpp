#include "cli/app/judge_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include "cli/adapters/verdict_message.hpp"
#include "cli/app/find_system.hpp"
#include "cli/core/verdict_text.hpp"
#include "common/asio/clock.hpp"
#include "common/asio/root.hpp"
#include "common/base/digest.hpp"
#include "common/base/files.hpp"
#include "gpu_pool/worker/adapters/judge_runner.hpp"
#include "gpu_pool/worker/app/local_judge.hpp"
#include "sandbox/adapters/gxx_compile_service.hpp"

namespace swage::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kBadArguments = 64;
constexpr int kMissing = 69;

int complain(int code, const std::string& text) {
  std::fprintf(stderr, "swage judge: %s\n", text.c_str());
  return code;
}

std::optional<judge::Mode> mode_of(const std::string& name) {
  static const std::map<std::string, judge::Mode> kModes{{"verify", judge::Mode::verify},
                                                         {"profile", judge::Mode::profile},
                                                         {"score", judge::Mode::score}};
  const auto at = kModes.find(name);
  return at == kModes.end() ? std::nullopt : std::optional(at->second);
}

worker::JudgeRunnerSettings runner_settings(const JudgeOptions& options, const fs::path& venv) {
  worker::JudgeRunnerSettings settings;
  settings.python = venv / "bin" / "python";
  settings.model_host_directory = share_directory() / "model_host";
  settings.judge_binary = binary_directory() / "swage-judge";
  settings.cache_directory = cache_directory() / "gpu-worker";
  settings.verdict_key = random_bytes(32);  // nobody checks the signature of a manual verdict
  settings.seed = options.seed;
  worker::choose_cores(settings);
  return settings;
}

sandbox::CompileSettings compile_settings(const fs::path& venv) {
  sandbox::CompileSettings settings;
  settings.toolchain.torch_directory = torch_directory(venv);
  settings.toolchain.python = venv / "bin" / "python";
  settings.cache_directory = cache_directory() / "objects";
  settings.scratch_directory = cache_directory() / "scratch";
  settings.compile_uid = sandbox::kCompileUid;
  settings.allow_reduced = true;  // the user's own kernel on the user's own machine
  return settings;
}

worker::LocalSolution solution_of(const JudgeOptions& options) {
  worker::LocalSolution out;
  out.task = fs::absolute(options.task);
  out.solution = fs::absolute(options.solution);
  out.pristine = share_directory() / "sandbox" / "template";
  out.mode = *mode_of(options.mode);
  out.precision = options.precision;
  out.one_machine = options.rounds == "quick";
  return out;
}

void show_progress(const judge::Progress& progress) {
  static std::string last;
  if (progress.phase == last) return;
  last = progress.phase;
  std::fprintf(stderr, "%s ...\n", last.c_str());
}

int print(const JudgeOptions& options, const worker::LocalVerdict& judged) {
  auto verdict = verdict_from_bytes(judged.verdict);
  if (options.json) {
    verdict["diagnostics"] = judged.diagnostics;
    const int indent = options.repeat > 1 ? -1 : 2;  // several records: one a line
    using Handler = nlohmann::json::error_handler_t;
    std::printf("%s\n", verdict.dump(indent, ' ', false, Handler::replace).c_str());
  } else {
    std::fputs((verdict_text(verdict) + judged.diagnostics).c_str(), stdout);
  }
  std::fflush(stdout);
  return verdict.value("code", "") == "ok" ? 0 : 1;
}

Task<int> judge_once(asio::any_io_executor strand, StopSource& stop, JudgeOptions options) {
  const fs::path venv = cache_directory() / "venv";
  const auto clock = make_steady_clock();
  auto compiler = sandbox::make_gxx_compile_service(strand, *clock, sandbox::probe_host(),
                                                    compile_settings(venv));
  auto runner = co_await worker::start_judge_runner(strand, runner_settings(options, venv), stop);
  if (!runner) co_return complain(kMissing, runner.error());
  const auto report = options.json ? [](judge::Progress) {}
                                   : +[](judge::Progress progress) { show_progress(progress); };
  int code = 0;
  for (int i = 0; i < options.repeat && !stop.stopping(); ++i) {
    const auto verdict =
        co_await worker::judge_locally(solution_of(options), *compiler, **runner, report, stop);
    const int one = verdict ? print(options, *verdict) : complain(1, verdict.error());
    code = std::max(code, one);
  }
  co_await (*runner)->shut_down();
  co_return code;
}

}  // namespace

void add_judge_options(CLI::App& command, JudgeOptions& options) {
  command.add_option("--task", options.task, "model.py in KernelBench's format")->required();
  command.add_option("--solution", options.solution, "folder with model_new.py and kernels/")
      ->required();
  command.add_option("--device", options.device, "cpu")->capture_default_str();
  command.add_option("--mode", options.mode, "verify, profile or score")->capture_default_str();
  command.add_option("--rounds", options.rounds, "quick (12) or full (30 to 120)")
      ->check(CLI::IsMember({"quick", "full"}))
      ->capture_default_str();
  command
      .add_option("--precision", options.precision,
                  "official (1e-2 decides) or matched (as exact as the reference)")
      ->check(CLI::IsMember({"official", "matched"}))
      ->capture_default_str();
  command.add_option("--seed", options.seed, "64 hex digits: the same inputs again");
  command.add_option("--repeat", options.repeat, "judge so many times, with warm model hosts")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command.add_flag("--json", options.json,
                   "print the whole record as JSON (with --repeat: one record a line)");
  command.footer(
      "Exit codes: 0 the verdict is ok; 1 it is another, or there is none; 64 bad command line or\n"
      "files; 69 something needed is missing.");
}

int judge_command(const JudgeOptions& options) {
  if (!mode_of(options.mode)) return complain(kBadArguments, "--mode is verify, profile or score");
  if (options.device != "cpu")
    return complain(kMissing, "--device " + options.device + " is not built: this judge knows cpu");
  if (!options.seed.empty() && from_hex(options.seed).size() != 32)
    return complain(kBadArguments, "--seed is 64 hex digits");
  if (!fs::is_regular_file(options.task))
    return complain(kBadArguments, "no such file: " + options.task);
  if (!fs::is_directory(options.solution))
    return complain(kBadArguments, "no such folder: " + options.solution);
  if (!fs::is_regular_file(fs::path(options.solution) / "model_new.py"))
    return complain(kBadArguments, options.solution +
                                       " has no model_new.py: it holds class ModelNew, beside "
                                       "kernels/ with the sources");
  return run_root(
      [options](asio::any_io_executor strand, StopSource& stop) {
        return judge_once(std::move(strand), stop, options);
      },
      std::chrono::seconds(30));
}

}  // namespace swage::cli
