// The GPU worker's real service around a device whose judges are fake: a process to kill.
// fake_judge_worker CONFIG quick|endless
#include <cstdio>
#include <cstring>

#include "common/asio/root.hpp"
#include "common/log/log.hpp"
#include "gpu_pool/worker/app/config.hpp"
#include "gpu_pool/worker/app/gpu_worker.hpp"
#include "tests/support/fake_judge_runner.hpp"

namespace {

swage::Task<int> root(swage::asio::any_io_executor strand, swage::StopSource& stop,
                      swage::worker::WorkerConfig config, bool quick) {
  swage::test::FakeJudgeRunner runner(strand);
  runner.immediate = quick;
  co_return co_await swage::worker::serve_gpu(std::move(config), runner, stop);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  const auto config = swage::worker::read_worker_config(argv[1]);
  if (!config) {
    std::fprintf(stderr, "%s\n", config.error().text().c_str());
    return 64;
  }
  swage::configure_log({swage::LogLevel::info, false, config->process.name});
  return swage::run_root(
      [&](swage::asio::any_io_executor strand, swage::StopSource& stop) {
        return root(strand, stop, *config, std::strcmp(argv[2], "quick") == 0);
      },
      std::chrono::seconds(10));
}
