#include "common/redis/subscription.hpp"

#include <random>
#include <utility>

#include "common/redis/client.hpp"

namespace swage {

using namespace std::chrono_literals;

RedisSubscription::RedisSubscription(const asio::any_io_executor& strand, RedisConfig config,
                                     std::string channel,
                                     std::function<void(std::string)> on_message,
                                     std::function<void()> on_subscribed)
    : strand_(strand),
      config_(std::move(config)),
      channel_(std::move(channel)),
      on_message_(std::move(on_message)),
      on_subscribed_(std::move(on_subscribed)),
      changed_(strand),
      gate_(strand, stop_) {
  std::ignore = gate_.spawn("redis subscription", run());
}

Task<bool> RedisSubscription::wait_subscribed(TimePoint deadline, StopSource& stop) {
  if (subscribed_) co_return true;
  StopSource late;
  const auto hook = stop.on_stop([&late] { late.request(StopReason::requested); });
  asio::steady_timer limit(strand_, deadline);
  const auto passed = std::make_shared<bool>(false);
  limit.async_wait([this, passed](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    *passed = true;
    changed_.notify();
  });
  while (!subscribed_ && !*passed && !stop.stopping() && !stop_.stopping())
    co_await changed_.wait(late);
  co_return subscribed_;
}

Task<> RedisSubscription::shut_down() {
  stop_.request(StopReason::requested);
  changed_.notify();
  co_await gate_.join();
}

Task<> RedisSubscription::run() {
  std::minstd_rand random{std::random_device{}()};
  while (!stop_.stopping()) {
    const auto link = std::make_shared<RedisLink>(strand_);
    const auto opened = co_await link->open(config_, std::chrono::steady_clock::now() + 3s, stop_);
    if (opened) co_await serve(link);
    if (stop_.stopping()) break;
    const double uniform = std::uniform_real_distribution<>(0, 1)(random);
    asio::steady_timer pause(strand_, redis_back_off(failures_++, uniform));
    const auto hook = stop_.on_stop([&pause] { pause.cancel(); });
    boost::system::error_code woken;
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
}

Task<> RedisSubscription::serve(std::shared_ptr<RedisLink> link) {
  if (stop_.stopping()) co_return;
  const auto hook = stop_.on_stop([link] { link->close(); });
  std::vector<std::string> subscribe = {"SUBSCRIBE", channel_};
  const bool written = co_await link->write(redis_command_bytes(subscribe));
  while (written) {
    auto reply = co_await link->read();
    if (!reply || reply->items.size() != 3 || stop_.stopping()) break;
    if (reply->items[0].text == "message") {
      on_message_(std::move(reply->items[2].text));
    } else if (reply->items[0].text == "subscribe") {
      failures_ = 0;
      subscribed_ = true;
      changed_.notify();
      if (on_subscribed_) on_subscribed_();
    }
  }
  subscribed_ = false;
  link->close();
}

}  // namespace swage
