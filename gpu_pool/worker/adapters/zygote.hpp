#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/asio/packet_socket.hpp"
#include "common/asio/process.hpp"
#include "common/asio/stop_source.hpp"
#include "gpu_pool/worker/adapters/judge_runner.hpp"

namespace swage::worker {

/// The Python process that model hosts are forked from (gpu_pool/model_host). Touched on one
/// strand. Stop it with shut_down(); its hosts end with it.
class Zygote {
 public:
  /// Starts it and waits until it is warm. `root` is an empty folder for the hosts' mounts.
  static Task<Result<std::unique_ptr<Zygote>, std::string>> start(asio::any_io_executor strand,
                                                                  JudgeRunnerSettings settings,
                                                                  std::filesystem::path root,
                                                                  StopSource& stop);

  /// A socket over which a judge can ask for hosts; empty when the zygote has gone.
  Task<Descriptor> new_client();
  /// Ends every host but those in `keep`, and waits for their end. False: the zygote has gone.
  Task<bool> clear(std::vector<std::int64_t> keep);
  Task<> shut_down();

  const std::vector<std::string>& missing_layers() const { return missing_; }
  const std::string& torch() const { return torch_; }

 private:
  Zygote(asio::any_io_executor strand, Descriptor socket, std::unique_ptr<Process> process);
  Task<Result<void, std::string>> wait_until_warm(StopSource& stop);

  asio::any_io_executor strand_;
  PacketSocket socket_;
  std::unique_ptr<Process> process_;
  std::vector<std::string> missing_;
  std::string torch_;
};

}  // namespace swage::worker
