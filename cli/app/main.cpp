#include <CLI/CLI.hpp>

#include "cli/app/judge_command.hpp"
#include "cli/app/query_commands.hpp"
#include "cli/app/run_command.hpp"
#include "cli/app/tasks_command.hpp"
#include "learner/api/settings.hpp"

namespace {

using namespace swage::cli;

constexpr const char* kFooter =
    "Exit codes: 0 done; 1 failed; 64 bad command line or file; 69 something needed is missing;\n"
    "70 a bug; 74 disk full or not writable.\n"
    "Environment: SWAGE_SERVER is the default of --server; SWAGE_TOKEN the token for a server "
    "(what\n"
    "secrets/token in its run's directory holds; a local run's is found by itself).";

void add_query_options(CLI::App& command, QueryOptions& options) {
  command.add_option("--server", options.server, "the controller's address, http://host:port");
  command.add_option("--out", options.out, "a local run's directory (default: the newest run)");
  command.add_flag("--json", options.json, "print JSON");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"swage trains a language-model agent to write fast GPU kernels."};
  app.footer(kFooter);
  app.require_subcommand(1);
  int code = 0;

  RunOptions run;
  auto* run_command_line = app.add_subcommand("run", "run a TrainingRun to its end");
  run_command_line->add_option("file", run.file, "TrainingRun file, e.g. examples/quickstart.yaml");
  run_command_line->add_flag("--local", run.local, "on this machine, without Kubernetes");
  run_command_line->add_option("--out", run.out, "where the run's files go");
  run_command_line->add_flag("--resume", run.resume,
                             "go on with a local run that was stopped or has died");
  run_command_line->add_flag("--again", run.again,
                             "--out may hold an earlier run: an unfinished one is gone on with, a "
                             "finished one moved aside");
  run_command_line->add_flag("--json", run.json,
                             "print only the summary (or how the run stands), as JSON");
  run_command_line
      ->add_option("--evaluation-rollouts", run.evaluation_rollouts,
                   "rollouts behind reward_after_rft and reward_final (default " +
                       std::to_string(swage::learner::Settings{}.evaluation_rollouts) +
                       "; a resumed run keeps its own)")
      ->check(CLI::Range(0, 100000));
  run_command_line->callback([&] { code = run_command(run); });

  QueryOptions query;
  std::string name;
  auto* status = app.add_subcommand("status", "what runs, and how far it is");
  status->add_option("run", name, "one run in full");
  add_query_options(*status, query);
  status->callback([&] { code = status_command(query, name); });

  auto* show = app.add_subcommand("show", "read a trajectory, or list them");
  show->add_option("rollout", name, "rollout id; none: list all");
  add_query_options(*show, query);
  show->callback([&] { code = show_command(query, name); });

  auto* resume = app.add_subcommand("resume", "let a paused or suspended run go on");
  resume->add_option("run", name, "the run's name")->required();
  add_query_options(*resume, query);
  resume->callback([&] { code = resume_command(query, name); });

  auto* suspend = app.add_subcommand("suspend", "let running rollouts end and start no new ones");
  suspend->add_option("run", name, "the run's name")->required();
  add_query_options(*suspend, query);
  suspend->callback([&] { code = suspend_command(query, name); });

  JudgeOptions judge;
  auto* judge_command_line = app.add_subcommand("judge", "judge a solution on this machine");
  add_judge_options(*judge_command_line, judge);
  judge_command_line->callback([&] { code = judge_command(judge); });

  bool json = false;
  std::vector<std::string> files;
  auto* tasks = app.add_subcommand("tasks", "built-in tasks, and checks of your own");
  tasks->require_subcommand(1);
  auto* list = tasks->add_subcommand("list", "the built-in tasks");
  list->add_flag("--json", json, "print JSON");
  list->callback([&] { code = tasks_list_command(json); });
  auto* check = tasks->add_subcommand("check", "is this file an admissible task, and if not, why");
  check->add_option("files", files, "KernelBench-format Python files")->required();
  check->add_flag("--json", json, "print JSON");
  check->callback([&] { code = tasks_check_command(files, json); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 64;
  }
  return code;
}
