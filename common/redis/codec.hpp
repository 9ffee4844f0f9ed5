#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/redis/value.hpp"

namespace swage {

/// A command as bytes on the wire.
std::string redis_command_bytes(const std::vector<std::string>& arguments);

/// Cuts a stream of bytes into replies. Pure; one per connection.
class RedisDecoder {
 public:
  RedisDecoder();
  ~RedisDecoder();
  RedisDecoder(const RedisDecoder&) = delete;
  RedisDecoder& operator=(const RedisDecoder&) = delete;

  void feed(std::string_view bytes);
  /// The next complete reply, or nothing yet. Errors: bad_reply, and the stream cannot be used on.
  Result<std::optional<RedisValue>, RedisError> next();

 private:
  struct Reader;
  std::unique_ptr<Reader> reader_;
};

/// What an error reply means: errors of a server that cannot execute anything now (loading, a
/// replica, a busy script) are `unreachable`, all others `refused`.
RedisError redis_error_from(const std::string& text);

}  // namespace swage
