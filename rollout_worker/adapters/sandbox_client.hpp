#pragma once

#include <memory>

#include "common/asio/asio.hpp"
#include "common/asio/clock.hpp"
#include "rollout_worker/api/sandbox.hpp"

namespace swage::rollout_worker {

/// Sandboxes over gRPC. `strand` is where its sessions live; clock and strand outlive it.
std::unique_ptr<SandboxConnector> make_sandbox_connector(asio::any_io_executor strand,
                                                         Clock& clock);

}  // namespace swage::rollout_worker
