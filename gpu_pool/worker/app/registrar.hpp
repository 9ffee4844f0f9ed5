#pragma once

#include <functional>
#include <string>

#include "common/asio/clock.hpp"
#include "common/asio/gate.hpp"
#include "gpu_pool/lease/api/worker_queue.hpp"
#include "gpu_pool/worker/app/evaluations.hpp"

namespace swage::worker {

/// Keeps one GPU in the lease queue: self-test, register, a heartbeat a second, clear when told.
/// Without Redis the lease in hand is served to its end, and registering is tried for ever.
/// Thread: the strand it was made for. Life: await shut_down() before it goes.
class Registrar {
 public:
  struct Config {
    lease::GpuId gpu;
    lease::BootId boot;   ///< new at each start of the process
    std::string address;  ///< gRPC target that holders dial
  };
  /// fatal: called once when this process must end: another serves its GPU.
  Registrar(const asio::any_io_executor& strand, lease::WorkerQueue& queue,
            Evaluations& evaluations, Clock& clock, Config config,
            std::function<void(std::string)> fatal);

  bool registered() const { return registered_; }
  Task<> shut_down();

 private:
  Task<> run();
  Task<Duration> enter();  ///< tries to register; returns how long to wait
  Task<Duration> beat();
  Task<> requalify();
  Task<> clear(lease::Token token);

  lease::WorkerQueue& queue_;
  Evaluations& evaluations_;
  Clock& clock_;
  Config config_;
  std::function<void(std::string)> fatal_;
  bool registered_ = false;
  std::optional<lease::Token> clearing_;
  StopSource stop_;
  Gate gate_;
};

}  // namespace swage::worker
