#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <memory>
#include <string>
#include <vector>

#include "common/asio/asio.hpp"
#include "common/asio/stop_source.hpp"
#include "common/base/time.hpp"
#include "common/redis/codec.hpp"

namespace swage {

/// Where Redis is and how to be let in.
struct RedisConfig {
  std::string address;   ///< `unix:/path` or `host:port`
  std::string password;  ///< for AUTH; empty: none
  /// Refuse a server below 7.0, or one that may evict keys (checked at each connect).
  bool check_server = true;
};

/// One connection: connects, is let in, moves bytes. Nothing here matches replies to commands but
/// exchange(), which is for use before readers and writers start. Touched on one strand.
class RedisLink : public std::enable_shared_from_this<RedisLink> {
 public:
  explicit RedisLink(const asio::any_io_executor& strand) : socket_(strand), limit_(strand) {}

  /// Connects, authenticates and checks the server. Requesting `stop` or passing the deadline
  /// closes the link.
  Task<Result<void, RedisError>> open(RedisConfig config, TimePoint deadline, StopSource& stop);

  /// One command and its reply.
  Task<RedisReply> exchange(std::vector<std::string> arguments);

  /// The next reply of the stream; an error reply is a value here.
  Task<RedisReply> read();
  /// False: the connection has broken.
  Task<bool> write(std::string bytes);
  /// Ends what waits in read() and write(). Any number of times.
  void close();

 private:
  Task<Result<void, RedisError>> connect(std::string address);
  Task<Result<void, RedisError>> connect_to(asio::generic::stream_protocol::endpoint endpoint);
  Task<Result<void, RedisError>> authenticate(std::string password);
  Task<Result<void, RedisError>> check_server();

  asio::generic::stream_protocol::socket socket_;
  asio::steady_timer limit_;
  bool opening_ = false;
  bool closed_ = false;
  RedisDecoder decoder_;
  std::vector<char> buffer_ = std::vector<char>(16384);
};

}  // namespace swage
