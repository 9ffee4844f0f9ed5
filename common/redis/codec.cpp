#include "common/redis/codec.hpp"

#include <hiredis/hiredis.h>

#include <array>

#include "common/base/check.hpp"

namespace swage {
namespace {

RedisValue value_from(const redisReply& reply) {
  RedisValue value;
  switch (reply.type) {
    case REDIS_REPLY_INTEGER:
      value.kind = RedisValue::Kind::integer;
      value.integer = reply.integer;
      break;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
      value.kind = RedisValue::Kind::text;
      value.text.assign(reply.str, reply.len);
      break;
    case REDIS_REPLY_ERROR:
      value.kind = RedisValue::Kind::error;
      value.text.assign(reply.str, reply.len);
      break;
    case REDIS_REPLY_ARRAY:
      value.kind = RedisValue::Kind::array;
      value.items.reserve(reply.elements);
      for (std::size_t i = 0; i < reply.elements; ++i)
        value.items.push_back(value_from(*reply.element[i]));
      break;
    default:
      break;  // nil
  }
  return value;
}

}  // namespace

std::string redis_command_bytes(const std::vector<std::string>& arguments) {
  std::vector<const char*> starts;
  std::vector<std::size_t> sizes;
  for (const auto& argument : arguments) {
    starts.push_back(argument.data());
    sizes.push_back(argument.size());
  }
  char* target = nullptr;
  const int size = redisFormatCommandArgv(&target, static_cast<int>(arguments.size()),
                                          starts.data(), sizes.data());
  check(size > 0, "a Redis command could not be formatted");
  std::string bytes(target, static_cast<std::size_t>(size));
  redisFreeCommand(target);
  return bytes;
}

struct RedisDecoder::Reader {
  Reader() : reader(redisReaderCreate()) { check(reader != nullptr, "out of memory"); }
  ~Reader() { redisReaderFree(reader); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  redisReader* reader;
};

RedisDecoder::RedisDecoder() : reader_(std::make_unique<Reader>()) {}
RedisDecoder::~RedisDecoder() = default;

void RedisDecoder::feed(std::string_view bytes) {
  redisReaderFeed(reader_->reader, bytes.data(), bytes.size());  // its error shows in next()
}

Result<std::optional<RedisValue>, RedisError> RedisDecoder::next() {
  void* raw = nullptr;
  if (redisReaderGetReply(reader_->reader, &raw) != REDIS_OK)
    return tl::unexpected(RedisError{RedisErrc::bad_reply, reader_->reader->errstr});
  if (raw == nullptr) return std::nullopt;
  const std::unique_ptr<redisReply, void (*)(void*)> reply(static_cast<redisReply*>(raw),
                                                           freeReplyObject);
  return value_from(*reply);
}

RedisError redis_error_from(const std::string& text) {
  constexpr std::array kNotNow = {"LOADING ", "READONLY ",    "MASTERDOWN ",
                                  "BUSY ",    "CLUSTERDOWN ", "TRYAGAIN "};
  for (const std::string_view prefix : kNotNow)
    if (text.starts_with(prefix)) return {RedisErrc::unreachable, text};
  return {RedisErrc::refused, text};
}

}  // namespace swage
