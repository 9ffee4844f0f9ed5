// swage-rollout-worker: runs agent loops for one TrainingRun.
#include <CLI/CLI.hpp>
#include <iostream>

#include "common/asio/root.hpp"
#include "common/base/exit_code.hpp"
#include "common/base/stop_graces.hpp"
#include "common/log/log.hpp"
#include "rollout_worker/app/worker.hpp"

int main(int argc, char** argv) {
  CLI::App app("Runs rollouts: policy, tools, evaluations, delivery to the learner.");
  std::string file;
  app.add_option("--config", file, "JSON configuration (docs/PROCESSES.md)")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : swage::exit_code::kBadInput;
  }
  auto config = swage::rollout_worker::read_worker_config(file);
  if (!config) {
    std::cerr << config.error().text() << "\n";
    return swage::exit_code::kBadInput;
  }
  swage::configure_log({config->process.log_level, config->process.log_json, config->process.name});
  std::function<std::string()> who_runs;
  const auto grace = config->drain + swage::kRolloutWorkerStop.watchdog();
  return swage::run_root(
      [&](swage::asio::any_io_executor strand, swage::StopSource& stop) {
        return swage::rollout_worker::run_worker(std::move(strand), stop, std::move(*config),
                                                 who_runs);
      },
      grace, [&] { return who_runs ? who_runs() : std::string("start or stop"); });
}
