#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/asio/asio.hpp"
#include "common/asio/event.hpp"
#include "common/asio/gate.hpp"
#include "common/asio/stop_source.hpp"
#include "common/redis/link.hpp"

namespace swage {

/// A Lua script and its SHA-1, under which the server may know it.
struct RedisScript {
  explicit RedisScript(std::string source);
  std::string text;
  std::string sha1;  ///< 40 hex digits
};

/// Commands to one Redis server over one connection that is kept up with back-off.
/// 1. A command joins the unsent queue; the writer sends all of it at once, when connected.
/// 2. What is written waits in a second queue; the reader gives each reply to its first.
/// 3. A command that times out unsent leaves; one that is written keeps its place, and its late
///    reply is dropped (else every later reply would shift by one).
/// 4. A lost connection completes all: unsent `unreachable`, written `unanswered`.
/// Thread: the strand it was made for. Life: await shut_down() before it goes.
class RedisClient {
 public:
  RedisClient(const asio::any_io_executor& strand, RedisConfig config);
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;

  /// One command; while there is no connection it waits for one until the deadline. An error reply
  /// at top level is an error here. Returns soon after shut_down(): unreachable.
  Task<RedisReply> command(std::vector<std::string> arguments, TimePoint deadline);

  /// EVALSHA; when the server does not know the script, EVAL once. `script` outlives the call.
  Task<RedisReply> script(const RedisScript& script, std::vector<std::string> keys,
                          std::vector<std::string> arguments, TimePoint deadline);

  bool connected() const { return link_ != nullptr; }
  /// Why the last attempt to connect failed; empty while connected.
  const std::string& last_failure() const { return last_failure_; }
  /// Called after each connect.
  void on_connect(std::function<void()> listener) { connected_listener_ = std::move(listener); }

  Task<> shut_down();

 private:
  struct Call;
  using CallPtr = std::shared_ptr<Call>;

  Task<> run();
  Task<> serve();
  Task<> write_loop(StopSource& broken);
  Task<> read_loop(StopSource& broken);
  static void complete(Call& call, RedisReply reply);
  void fail_all(const std::string& why);

  asio::any_io_executor strand_;
  RedisConfig config_;
  std::function<void()> connected_listener_;
  std::string last_failure_;
  std::shared_ptr<RedisLink> link_;  // while connected
  std::deque<CallPtr> unsent_, unanswered_;
  Event unsent_arrived_;
  StopSource stop_;
  Gate gate_;
};

/// How long to wait before the `failures`-th attempt to connect: doubling from 50 ms to 2 s, less a
/// random part of up to a half. `uniform` in [0, 1).
Duration redis_back_off(unsigned failures, double uniform);

}  // namespace swage
