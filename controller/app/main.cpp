#include <CLI/CLI.hpp>
#include <cstdio>

#include "common/asio/root.hpp"
#include "common/log/log.hpp"
#include "controller/adapters/model_check.hpp"
#include "controller/adapters/run_file.hpp"
#include "controller/adapters/task_check.hpp"
#include "controller/app/run_controller.hpp"
#include "policy/tokenizer/tokenizer.hpp"

namespace swage::controller {
namespace {

using namespace std::chrono_literals;

constexpr int kBadInput = 64;
constexpr int kMissing = 69;

int complain(const std::string& what, int code) {
  std::fprintf(stderr, "swage-controller: %s\n", what.c_str());
  return code;
}

int code_of(const OutError& error) {
  return error.disk_full ? 74 : error.code == OutErrc::unwritable ? 74 : kBadInput;
}

Task<int> control(asio::any_io_executor strand, StopSource& stop, Clock& clock, RunSetup setup,
                  std::function<std::string()>& stuck) {
  RunController controller(strand, stop, clock, std::move(setup));
  stuck = [&controller] { return controller.still_running(); };
  const int code = co_await controller.run();
  stuck = nullptr;
  co_return code;
}

int run(const ControllerConfig& config) {
  const auto text = read_file(config.run_file);
  if (!text) return complain(text.error().message, kBadInput);
  const auto file = parse_run_file(*text, config.run_file.string());
  if (!file) return complain(file.error().text(), kBadInput);
  if (file->run.device_kind == DeviceKind::cuda)
    return complain(config.run_file.string() +
                        ": spec.deviceKind cuda needs a GPU worker that this build does not have; "
                        "set deviceKind: cpu in TrainingRun and ProfilingPool",
                    kMissing);
  const auto installed =
      find_installation(std::filesystem::read_symlink("/proc/self/exe").parent_path(),
                        environment_or("PATH", ""), cache_directory());
  if (!installed) {
    for (const auto& what : installed.error()) complain(what, kMissing);
    return kMissing;
  }
  if (const auto usable = check_model_directory(file->run); !usable)
    return complain(config.run_file.string() + ": " + usable.error(), kBadInput);
  const auto tasks = load_tasks(file->run, installed->share / "tasks");
  if (!tasks) return complain(tasks.error().text(), kBadInput);
  if (const auto usable = check_task_files(file->run, *installed); !usable)
    return complain(usable.error(), kBadInput);
  if (!file->run.evaluation.allow_reduced_trust)
    if (const auto able = check_containers(installed->bin); !able)
      return complain(able.error(), kMissing);
  auto out =
      OutDirectory::open(config.out, file->run, *text, config.resume, config.evaluation_rollouts);
  if (!out) return complain(out.error().message, code_of(out.error()));
  for (const auto& notice : file->notices) log_info("notice", {{"text", notice}});

  LocalLayout layout(**out, *file, *installed, (*out)->evaluation_rollouts());
  struct CleanUp {
    const LocalLayout& layout;
    ~CleanUp() { layout.clean_up(); }
  } const clean_up{layout};
  const auto prepared = layout.prepare(**out);
  if (!prepared) return complain(prepared.error().message, code_of(prepared.error()));
  const auto tokenizer = policy::Tokenizer::load(layout.tokenizer());
  if (!tokenizer)
    return complain(layout.tokenizer().string() + ": " + tokenizer.error().message, kMissing);
  const auto token = read_file(layout.token_file());
  const auto key = read_file(layout.sandbox_key_file());
  if (!token || !key) return complain("the secrets in OUT cannot be read", 1);

  const auto clock = make_steady_clock();
  std::function<std::string()> stuck;
  const RunSetup setup{
      *file, **out, layout, *tasks, [&](auto ids) { return tokenizer->decode(ids); }, *token, *key};
  const int code = run_root(
      [&](asio::any_io_executor strand, StopSource& stop) {
        return control(std::move(strand), stop, *clock, setup, stuck);
      },
      100s, [&] { return stuck ? stuck() : std::string("(not started)"); });
  return code;
}

}  // namespace
}  // namespace swage::controller

int main(int argc, char** argv) {
  CLI::App app{
      "Runs a TrainingRun on this machine: starts its processes, dispatches rollouts, serves the\n"
      "HTTP API. Exit codes: 0 done or stopped as asked, 64 bad input, 69 something is missing,\n"
      "70 a bug, 74 disk full or not writable, 1 else."};
  swage::controller::ControllerConfig config;
  app.add_option("--run", config.run_file, "YAML file of a TrainingRun and its ProfilingPool")
      ->required();
  app.add_option("--out", config.out, "directory of the run (made if absent)")->required();
  app.add_flag("--resume", config.resume, "go on with the run that lies in --out");
  app.add_option("--evaluation-rollouts", config.evaluation_rollouts,
                 "rollouts of each evaluation round; 0 leaves the rounds out (default " +
                     std::to_string(swage::learner::Settings{}.evaluation_rollouts) +
                     "; a resumed run keeps its own)")
      ->check(CLI::Range(0, 100000));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 64;
  }
  swage::configure_log({swage::LogLevel::info, false, "controller"});
  return swage::controller::run(config);
}
