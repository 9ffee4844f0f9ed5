#pragma once

#include <memory>
#include <string>

#include "common/asio/asio.hpp"
#include "common/asio/clock.hpp"
#include "rollout_worker/api/dispatcher.hpp"

namespace swage::rollout_worker {

struct DispatcherSettings {
  std::string address;
  std::string token;
  std::string worker;  ///< our name
  std::string run_uid;
  std::uint32_t capacity = 1;
};

/// The worker's stream to the controller's leader. Reconnects for ever; after each connection says
/// hello, reports what is in hand and repeats what has ended lately, because the end of a rollout
/// may have been lost with the old stream. Commands of a leader with a lower epoch than one seen
/// are refused. Thread: `strand`. Life: await close() before it goes.
class DispatcherClient : public DispatchReporter {
 public:
  /// The listener outlives the client.
  virtual void start(DispatchListener& listener) = 0;
  virtual bool connected() const = 0;
  /// Sends what is queued, for at most `flush`, then ends the stream.
  virtual Task<> close(Duration flush) = 0;
};

std::unique_ptr<DispatcherClient> make_dispatcher_client(asio::any_io_executor strand, Clock& clock,
                                                         DispatcherSettings settings);

}  // namespace swage::rollout_worker
