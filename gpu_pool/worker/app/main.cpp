// swage-gpu-worker: one GPU of the profiling pool. See docs/PROCESSES.md.
#include <CLI/CLI.hpp>
#include <iostream>

#include "common/asio/root.hpp"
#include "common/base/exit_code.hpp"
#include "common/base/stop_graces.hpp"
#include "common/log/log.hpp"
#include "gpu_pool/worker/adapters/judge_runner.hpp"
#include "gpu_pool/worker/app/config.hpp"
#include "gpu_pool/worker/app/gpu_worker.hpp"

namespace {

using swage::worker::JudgeRunnerSettings;
using swage::worker::WorkerConfig;

swage::Task<int> root(swage::asio::any_io_executor strand, swage::StopSource& stop,
                      WorkerConfig config, JudgeRunnerSettings settings) {
  auto runner = co_await swage::worker::start_judge_runner(strand, std::move(settings), stop);
  if (!runner) {
    if (stop.stopping()) co_return 0;
    std::cerr << runner.error() << "\n";
    co_return swage::exit_code::kMissing;
  }
  const int code = co_await swage::worker::serve_gpu(std::move(config), **runner, stop);
  co_await (*runner)->shut_down();
  co_return code;
}

JudgeRunnerSettings runner_settings(const WorkerConfig& config, std::string verdict_key) {
  JudgeRunnerSettings settings;
  settings.python = config.python;
  settings.model_host_directory = config.model_host_directory;
  settings.judge_binary = config.judge_binary;
  settings.cache_directory = config.cache_directory;
  settings.verdict_key = std::move(verdict_key);
  settings.host_cores = config.host_cores;
  settings.judge_cores = config.judge_cores;
  if (settings.host_cores.empty() || settings.judge_cores.empty())
    swage::worker::choose_cores(settings);
  return settings;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The swage GPU worker: honours leases on one device and runs judges on it.");
  std::string file;
  app.add_option("--config", file, "JSON file, see docs/PROCESSES.md")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : swage::exit_code::kBadInput;
  }
  const auto config = swage::worker::read_worker_config(file);
  if (!config) {
    std::cerr << config.error().text() << "\n";
    return swage::exit_code::kBadInput;
  }
  swage::configure_log({config->process.log_level, config->process.log_json, config->process.name});
  auto key = swage::read_file(config->verdict_key_file);
  if (!key) {
    std::cerr << key.error().message << "\n";
    return swage::exit_code::kMissing;
  }
  if (const auto writable = swage::worker::check_cache(config->cache_directory); !writable) {
    std::cerr << writable.error() << "\n";
    return swage::exit_code::kNotWritable;
  }
  while (key->ends_with('\n')) key->pop_back();
  return swage::run_root(
      [&](swage::asio::any_io_executor strand, swage::StopSource& stop) {
        return root(strand, stop, *config, runner_settings(*config, *key));
      },
      config->drain + swage::kGpuWorkerStop.watchdog());
}
