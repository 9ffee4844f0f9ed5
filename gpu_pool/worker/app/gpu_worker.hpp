#pragma once

#include <string>

#include "common/asio/asio.hpp"
#include "common/asio/stop_source.hpp"
#include "gpu_pool/judge/api/judge_runner.hpp"
#include "gpu_pool/worker/app/config.hpp"

namespace swage::worker {

/// The whole life of a GPU worker on the strand that awaits it: serves gRPC and HTTP, registers,
/// evaluates, until `stop` is requested or it cannot go on; then drains and ends everything but
/// `runner`, which the caller shuts down. Returns the process's exit code: 0 ended as asked; 69 an
/// address cannot be bound or the ready file not written; 1 the device could not be cleared, or
/// another process serves it.
Task<int> serve_gpu(WorkerConfig config, judge::JudgeRunner& runner, StopSource& stop);

}  // namespace swage::worker
