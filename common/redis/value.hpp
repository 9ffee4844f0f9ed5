#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.hpp"

namespace swage {

/// One reply of Redis.
struct RedisValue {
  enum class Kind { nil, integer, text, error, array };
  Kind kind = Kind::nil;
  std::int64_t integer = 0;
  std::string text;  ///< of a string, a status or an error
  std::vector<RedisValue> items;

  bool is_text() const { return kind == Kind::text; }
  bool is_integer() const { return kind == Kind::integer; }
  bool is_array() const { return kind == Kind::array; }
};

/// Why a command has no reply.
enum class RedisErrc {
  unreachable,  ///< not executed: never written, or the server is not ready to execute it
  unanswered,   ///< written, and no reply in time: it may have been executed
  refused,      ///< the server answered with an error
  bad_reply,    ///< the reply breaks the protocol
};

constexpr FailureKind kind_of(RedisErrc code) {
  switch (code) {
    case RedisErrc::unreachable:
    case RedisErrc::unanswered:  // only where the command may be repeated
      return FailureKind::retry;
    case RedisErrc::refused:
    case RedisErrc::bad_reply:
      return FailureKind::give_up;
  }
  return FailureKind::give_up;
}

struct RedisError {
  RedisErrc code = RedisErrc::unreachable;
  std::string message;  ///< for people
};

using RedisReply = Result<RedisValue, RedisError>;

}  // namespace swage
