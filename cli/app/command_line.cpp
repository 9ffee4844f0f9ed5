#include "cli/app/command_line.hpp"

#include "cli/app/tasks_command.hpp"
#include "learner/api/settings.hpp"

namespace swage::cli {
namespace {

void add_query_options(CLI::App& command, QueryOptions& options) {
  command.add_option("--server", options.server, "the controller's address, http://host:port");
  command.add_option("--out", options.out, "a local run's directory (default: the newest run)");
  command.add_flag("--json", options.json, "print JSON");
}

void add_run(CLI::App& app, Parsed& parsed) {
  auto& run = parsed.run;
  auto* command = app.add_subcommand("run", "run a TrainingRun to its end");
  command->add_option("file", run.file, "TrainingRun file, e.g. examples/quickstart.yaml");
  command->add_flag("--local", run.local, "on this machine, without Kubernetes");
  command->add_option("--out", run.out, "where the run's files go");
  command->add_flag("--resume", run.resume, "go on with a local run that was stopped or has died");
  command->add_flag("--again", run.again,
                    "--out may hold an earlier run: an unfinished one is gone on with, a "
                    "finished one moved aside");
  command->add_flag("--json", run.json, "print only the summary (or how the run stands), as JSON");
  command
      ->add_option("--evaluation-rollouts", run.evaluation_rollouts,
                   "rollouts behind reward_after_rft and reward_final (default " +
                       std::to_string(swage::learner::Settings{}.evaluation_rollouts) +
                       "; a resumed run keeps its own)")
      ->check(CLI::Range(0, 100000));
  command->callback([&parsed] { parsed.code = run_command(parsed.run); });
}

/// A command that asks a controller about one run or rollout. required: whether it must be named.
void add_query(CLI::App& app, Parsed& parsed, const std::string& name, const std::string& does,
               const std::string& asks_for, const std::string& what, bool required,
               int (*command)(const QueryOptions&, const std::string&)) {
  auto* added = app.add_subcommand(name, does);
  added->add_option(asks_for, parsed.name, what)->required(required);
  add_query_options(*added, parsed.query);
  added->callback([&parsed, command] { parsed.code = command(parsed.query, parsed.name); });
}

void add_queries(CLI::App& app, Parsed& parsed) {
  add_query(app, parsed, "status", "what runs, and how far it is", "run", "one run in full", false,
            status_command);
  add_query(app, parsed, "show", "read a trajectory, or list them", "rollout",
            "rollout id; none: list all", false, show_command);
  add_query(app, parsed, "resume", "let a paused or suspended run go on", "run", "the run's name",
            true, resume_command);
  add_query(app, parsed, "suspend", "let running rollouts end and start no new ones", "run",
            "the run's name", true, suspend_command);
}

void add_judge(CLI::App& app, Parsed& parsed) {
  auto* command = app.add_subcommand("judge", "judge a solution on this machine");
  add_judge_options(*command, parsed.judge);
  command->callback([&parsed] { parsed.code = judge_command(parsed.judge); });
}

void add_tasks(CLI::App& app, Parsed& parsed) {
  auto* tasks = app.add_subcommand("tasks", "built-in tasks, and checks of your own");
  tasks->require_subcommand(1);
  auto* list = tasks->add_subcommand("list", "the built-in tasks");
  list->add_flag("--json", parsed.json, "print JSON");
  list->callback([&parsed] { parsed.code = tasks_list_command(parsed.json); });
  auto* check = tasks->add_subcommand("check", "is this file an admissible task, and if not, why");
  check->add_option("files", parsed.files, "KernelBench-format Python files")->required();
  check->add_flag("--json", parsed.json, "print JSON");
  check->callback([&parsed] { parsed.code = tasks_check_command(parsed.files, parsed.json); });
}

}  // namespace

void add_commands(CLI::App& app, Parsed& parsed) {
  add_run(app, parsed);
  add_queries(app, parsed);
  add_judge(app, parsed);
  add_tasks(app, parsed);
}

}  // namespace swage::cli
