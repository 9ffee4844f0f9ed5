#pragma once

#include <functional>
#include <string>

#include "common/asio/asio.hpp"
#include "common/asio/event.hpp"
#include "common/asio/gate.hpp"
#include "common/asio/stop_source.hpp"
#include "common/redis/link.hpp"

namespace swage {

/// Listens to one channel on a connection of its own, kept up with back-off. Messages published
/// while it is down are lost: use it for hints only.
/// Thread: the strand it was made for; both listeners are called there. Life: await shut_down()
/// before it goes.
class RedisSubscription {
 public:
  /// on_message: each payload. on_subscribed: after each (re)subscription; may be empty.
  RedisSubscription(const asio::any_io_executor& strand, RedisConfig config, std::string channel,
                    std::function<void(std::string)> on_message,
                    std::function<void()> on_subscribed);
  RedisSubscription(const RedisSubscription&) = delete;
  RedisSubscription& operator=(const RedisSubscription&) = delete;

  bool subscribed() const { return subscribed_; }
  /// Returns once subscribed (true), or when `deadline` has passed or `stop` is requested.
  Task<bool> wait_subscribed(TimePoint deadline, StopSource& stop);
  Task<> shut_down();

 private:
  Task<> run();
  Task<> serve(std::shared_ptr<RedisLink> link);

  asio::any_io_executor strand_;
  RedisConfig config_;
  std::string channel_;
  std::function<void(std::string)> on_message_;
  std::function<void()> on_subscribed_;
  bool subscribed_ = false;
  unsigned failures_ = 0;
  Event changed_;
  StopSource stop_;
  Gate gate_;
};

}  // namespace swage
