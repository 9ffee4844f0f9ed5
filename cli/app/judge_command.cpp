#include "cli/app/judge_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <map>

#include "cli/adapters/verdict_message.hpp"
#include "cli/app/find_system.hpp"
#include "cli/app/tasks_command.hpp"
#include "cli/core/noise_summary.hpp"
#include "cli/core/verdict_text.hpp"
#include "common/asio/clock.hpp"
#include "common/asio/root.hpp"
#include "common/base/digest.hpp"
#include "common/base/exit_code.hpp"
#include "common/base/files.hpp"
#include "common/base/json_text.hpp"
#include "gpu_pool/worker/adapters/judge_runner.hpp"
#include "gpu_pool/worker/app/local_judge.hpp"
#include "sandbox/adapters/gxx_compile_service.hpp"

namespace swage::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kFewestRounds = 6;  // fewer give no interval
constexpr std::uint32_t kMostRounds = 1000;

int times(const JudgeOptions& options) { return std::max(options.repeat, options.ab_noise); }

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
  worker::choose_cores(settings, options.device);
  return settings;
}

/// The toolkit of the Python environment, else of the machine; empty: none.
fs::path cuda_toolkit(const fs::path& venv) {
  const fs::path in_environment = torch_directory(venv).parent_path() / "nvidia" / "cu13";
  for (const auto& folder : {in_environment, fs::path("/usr/local/cuda"), fs::path("/opt/cuda")})
    if (fs::exists(folder / "bin" / "nvcc")) return fs::canonical(folder);
  return {};
}

sandbox::CompileSettings compile_settings(const JudgeOptions& options, const fs::path& venv) {
  sandbox::CompileSettings settings;
  settings.toolchain.torch_directory = torch_directory(venv);
  settings.toolchain.python = venv / "bin" / "python";
  if (options.device == "cuda") settings.toolchain.cuda_directory = cuda_toolkit(venv);
  settings.cache_directory = cache_directory() / "objects";
  settings.scratch_directory = cache_directory() / "scratch";
  settings.compile_uid = sandbox::kCompileUid;
  settings.allow_reduced = true;  // the user's own kernel on the user's own machine
  return settings;
}

/// 0 for `quick`, `full` and what is neither they nor a possible number.
std::uint32_t number_of_rounds(const std::string& text) {
  std::uint32_t rounds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rounds);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && rounds >= kFewestRounds && rounds <= kMostRounds ? rounds : 0;
}

worker::LocalSolution solution_of(const JudgeOptions& options) {
  worker::LocalSolution out;
  out.task = fs::absolute(options.task);
  if (!options.reference_only) out.solution = fs::absolute(options.solution);
  out.python = cache_directory() / "venv" / "bin" / "python";
  out.inline_program = share_directory() / "model_host" / "swage_model_host" / "inline_sources.py";
  out.pristine = share_directory() / "sandbox" / "template";
  out.mode = *mode_of(options.mode);
  out.precision = options.precision;
  out.device = options.device;
  // Who gives a time but no number wants as much certainty as the time allows.
  out.one_machine = options.rounds == "quick" || (options.rounds.empty() && options.budget_s == 0);
  out.rounds = number_of_rounds(options.rounds);
  out.budget_s = options.budget_s;
  if (options.reference_only) out.subject = judge::Subject::reference;
  if (options.ab_noise > 0) out.subject = judge::Subject::noise;
  return out;
}

void show_progress(const judge::Progress& progress) {
  static std::string last;
  if (progress.phase == last) return;
  last = progress.phase;
  std::fprintf(stderr, "%s ...\n", last.c_str());
}

void print_json(const nlohmann::json& record, bool one_of_many) {
  std::printf("%s\n", json_text(record, one_of_many ? -1 : 2).c_str());
}

void print(const JudgeOptions& options, nlohmann::json verdict, const std::string& diagnostics) {
  if (options.json) {
    verdict["diagnostics"] = diagnostics;
    print_json(verdict, times(options) > 1);
  } else {
    std::fputs((verdict_text(verdict) + diagnostics).c_str(), stdout);
  }
  std::fflush(stdout);
}

/// Says what is wrong with the user's task file where that may be why there is no better verdict: a
/// solution that does not compile must not hide it.
void explain_task(const JudgeOptions& options, const std::string& code) {
  if (code != "task_invalid" && code != "compile_error") return;
  const auto file = fs::absolute(options.task).lexically_normal().string();
  const auto found = task_complaint(file);
  if (!found.empty()) {
    complain(1, "the task cannot be used; mend it, then try `swage tasks check " + file + "`:\n" +
                    found);
  } else if (code == "task_invalid") {
    complain(1, file + ": the task runs in eager mode, but cannot be judged (see above)");
  }
}

int print_noise(const JudgeOptions& options, const NoiseSummary& summary) {
  if (options.json) {
    print_json({{"ab_noise", summary.record()}}, true);
  } else {
    std::fputs(summary.text().c_str(), stdout);
  }
  return summary.sound() ? 0 : 1;
}

Task<int> judge_once(asio::any_io_executor strand, StopSource& stop, JudgeOptions options) {
  const fs::path venv = cache_directory() / "venv";
  const auto clock = make_steady_clock();
  auto compiler = sandbox::make_gxx_compile_service(strand, *clock, sandbox::probe_host(),
                                                    compile_settings(options, venv));
  auto runner = co_await worker::start_judge_runner(strand, runner_settings(options, venv), stop);
  if (!runner) co_return complain(exit_code::kMissing, runner.error());
  const auto report = options.json ? [](judge::Progress) {}
                                   : +[](judge::Progress progress) { show_progress(progress); };
  int code = 0;
  NoiseSummary noise;
  for (int i = 0; i < times(options) && !stop.stopping(); ++i) {
    const auto judged = co_await worker::judge_locally(strand, solution_of(options), *compiler,
                                                       **runner, report, stop);
    if (!judged) {
      code = complain(1, judged.error());
      break;
    }
    const auto verdict = verdict_from_bytes(judged->verdict);
    print(options, verdict, judged->diagnostics);
    noise.add(verdict);
    if (i == 0) explain_task(options, verdict.value("code", ""));
    if (options.ab_noise == 0 && verdict.value("code", "") != "ok") code = 1;
  }
  if (options.ab_noise > 0 && code == 0) code = print_noise(options, noise);
  co_await (*runner)->shut_down();
  co_return code;
}

}  // namespace

void add_judge_options(CLI::App& command, JudgeOptions& options) {
  command.add_option("--task", options.task, "model.py in KernelBench's format")->required();
  command.add_option(
      "--solution", options.solution,
      "folder with model_new.py and kernels/, or one file whose ModelNew uses load_inline");
  command.add_option("--device", options.device, "cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  command.add_option("--mode", options.mode, "verify, profile or score")->capture_default_str();
  command.add_option("--rounds", options.rounds,
                     "quick (12, the default), full (30 to 120), or a number from 6 to 1000");
  command
      .add_option("--budget", options.budget_s,
                  "seconds that the rounds may take; without --rounds, full")
      ->check(CLI::Range(1U, 3600U));
  command
      .add_option("--precision", options.precision,
                  "official (1e-2 decides) or matched (as exact as the reference)")
      ->check(CLI::IsMember({"official", "matched"}))
      ->capture_default_str();
  command.add_option("--seed", options.seed, "64 hex digits: the same inputs again");
  command.add_flag("--reference-only", options.reference_only,
                   "time eager and compile; no solution");
  command
      .add_option("--ab-noise", options.ab_noise,
                  "so many times: measure the solution against itself in a second process")
      ->check(CLI::Range(1, 10'000));
  command.add_option("--repeat", options.repeat, "judge so many times, with warm model hosts")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command.add_flag("--json", options.json,
                   "print the whole record as JSON (with --repeat: one record a line)");
  command.footer(
      "Exit codes: 0 the verdict is ok; 1 it is another, or there is none; 64 bad command line or\n"
      "files; 69 something needed is missing; 74 disk full or not writable.");
}

namespace {

/// What is wrong with options that each alone may be right; empty if nothing is.
std::string contradiction(const JudgeOptions& options) {
  const bool named =
      options.rounds.empty() || options.rounds == "quick" || options.rounds == "full";
  if (!named && number_of_rounds(options.rounds) == 0)
    return "--rounds is quick, full or a number from 6 to 1000";
  const bool timed = options.mode != "verify";
  if (!timed && (options.reference_only || options.ab_noise > 0))
    return "--mode verify times nothing: --reference-only and --ab-noise need profile or score";
  if (!timed && (!options.rounds.empty() || options.budget_s > 0))
    return "--mode verify times nothing: leave --rounds and --budget out";
  if (options.reference_only && (options.ab_noise > 0 || !options.solution.empty()))
    return "--reference-only takes no --solution and no --ab-noise";
  if (options.ab_noise > 0 && options.repeat > 1) return "--ab-noise N repeats already";
  if (!options.reference_only && options.solution.empty())
    return "--solution is needed (or --reference-only)";
  return "";
}

}  // namespace

int judge_command(const JudgeOptions& options) {
  if (!mode_of(options.mode))
    return complain(exit_code::kBadInput, "--mode is verify, profile or score");
  if (const auto why = contradiction(options); !why.empty())
    return complain(exit_code::kBadInput, why);
  if (options.device == "cuda" && cuda_toolkit(cache_directory() / "venv").empty())
    return complain(exit_code::kMissing, "there is no nvcc: run `make setup-gpu`");
  if (!options.seed.empty() && from_hex(options.seed).size() != 32)
    return complain(exit_code::kBadInput, "--seed is 64 hex digits");
  if (!fs::is_regular_file(options.task))
    return complain(exit_code::kBadInput, "no such file: " + options.task);
  const bool given = options.reference_only || fs::is_directory(options.solution) ||
                     fs::is_regular_file(options.solution);
  if (!given) return complain(exit_code::kBadInput, "no such file or folder: " + options.solution);
  if (!options.reference_only && fs::is_directory(options.solution) &&
      !fs::is_regular_file(fs::path(options.solution) / "model_new.py"))
    return complain(exit_code::kBadInput,
                    options.solution +
                        " has no model_new.py: it holds class ModelNew, beside "
                        "kernels/ with the sources");
  if (const auto writable = worker::check_cache(cache_directory() / "gpu-worker"); !writable)
    return complain(exit_code::kNotWritable, writable.error());
  return run_root(
      [options](asio::any_io_executor strand, StopSource& stop) {
        return judge_once(std::move(strand), stop, options);
      },
      std::chrono::seconds(30));
}

}  // namespace swage::cli
