#pragma once

#include <memory>
#include <string>

#include "common/asio/asio.hpp"
#include "common/asio/clock.hpp"
#include "rollout_worker/api/trajectory.hpp"

namespace swage::rollout_worker {

/// One stream to the learner for all rollouts of the process. What is not answered when the stream
/// breaks, or is answered RETRY, is sent again, for as long as its rollout waits. Thread: `strand`.
/// Life: await close() before it goes.
class LearnerClient : public TrajectorySink {
 public:
  /// Trajectories handed over and not answered yet.
  virtual std::size_t waiting() const = 0;
  virtual Task<> close() = 0;
};

std::unique_ptr<LearnerClient> make_learner_client(asio::any_io_executor strand, Clock& clock,
                                                   std::string address, std::string token);

}  // namespace swage::rollout_worker
