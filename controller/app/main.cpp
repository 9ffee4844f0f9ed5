#include <CLI/CLI.hpp>
#include <cstdio>

#include "common/base/exit_code.hpp"
#include "common/log/log.hpp"
#include "controller/app/cluster_main.hpp"
#include "controller/app/local_main.hpp"
#include "learner/api/settings.hpp"

int main(int argc, char** argv) {
  CLI::App app{
      "Runs a TrainingRun on this machine: starts its processes, dispatches rollouts, serves the\n"
      "HTTP API. With `cluster`: looks after the TrainingRuns of a Kubernetes cluster. Exit codes: "
      "0 done or stopped as asked, 64 bad input, 69 something is missing,\n"
      "70 a bug, 74 disk full or not writable, 1 else."};
  swage::controller::ControllerConfig config;
  app.add_option("--run", config.run_file, "YAML file of a TrainingRun and its ProfilingPool");
  app.add_option("--out", config.out, "directory of the run (made if absent)");
  app.add_flag("--resume", config.resume, "go on with the run that lies in --out");
  app.add_option("--evaluation-rollouts", config.evaluation_rollouts,
                 "rollouts of each evaluation round; 0 leaves the rounds out (default " +
                     std::to_string(swage::learner::Settings{}.evaluation_rollouts) +
                     "; a resumed run keeps its own)")
      ->check(CLI::Range(0, 100000));
  swage::controller::ClusterConfig in_cluster;
  auto* cluster = app.add_subcommand("cluster", "The operator (docs/PROCESSES.md).");
  cluster->add_option("--config", in_cluster.config, "JSON file")->required();
  cluster->add_option("--name", in_cluster.name, "of this pod")->required();
  cluster->add_option("--namespace", in_cluster.name_space, "of this pod")->required();
  cluster->add_option("--address", in_cluster.address, "host that others reach this process by")
      ->required();
  cluster->add_option("--kubeconfig", in_cluster.kubeconfig, "instead of the pod's own account");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : swage::exit_code::kBadInput;
  }
  if (cluster->parsed()) return swage::controller::run_cluster(in_cluster);
  if (config.run_file.empty() || config.out.empty()) {
    std::fprintf(stderr, "--run and --out are required; see --help\n");
    return swage::exit_code::kBadInput;
  }
  swage::configure_log({swage::LogLevel::info, false, "controller"});
  return swage::controller::run_locally(config);
}
