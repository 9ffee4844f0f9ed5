#include "common/redis/codec.hpp"

#include <gmock/gmock.h>

#include "common/redis/client.hpp"

namespace swage {
namespace {

using namespace std::chrono_literals;

TEST(RedisCodec, ACommandIsAnArrayOfBinaryStrings) {
  EXPECT_EQ(redis_command_bytes({"SET", "k", std::string("a\0b", 3)}),
            std::string("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\na\0b\r\n", 29));
}

TEST(RedisCodec, ARepliesBytesMayArriveOneByOne) {
  RedisDecoder decoder;
  const std::string bytes = "*3\r\n:7\r\n$2\r\nab\r\n*1\r\n$-1\r\n+OK\r\n";
  std::vector<RedisValue> values;
  for (const char byte : bytes) {
    decoder.feed({&byte, 1});
    auto next = decoder.next();
    ASSERT_TRUE(next.has_value());
    if (next->has_value()) values.push_back(std::move(**next));
  }
  ASSERT_EQ(values.size(), 2U);
  ASSERT_EQ(values[0].items.size(), 3U);
  EXPECT_EQ(values[0].items[0].integer, 7);
  EXPECT_EQ(values[0].items[1].text, "ab");
  EXPECT_EQ(values[0].items[2].items[0].kind, RedisValue::Kind::nil);
  EXPECT_EQ(values[1].text, "OK");
}

TEST(RedisCodec, BytesThatAreNoReplyAreAnError) {
  RedisDecoder decoder;
  decoder.feed("HTTP/1.1 400\r\n");
  const auto next = decoder.next();
  ASSERT_FALSE(next.has_value());
  EXPECT_EQ(next.error().code, RedisErrc::bad_reply);
}

TEST(RedisCodec, AServerThatIsLoadingIsUnreachableAndAWrongCommandIsRefused) {
  EXPECT_EQ(redis_error_from("LOADING Redis is loading").code, RedisErrc::unreachable);
  EXPECT_EQ(redis_error_from("ERR unknown command").code, RedisErrc::refused);
}

TEST(RedisClient, BackOffDoublesFromFiftyMillisecondsToTwoSeconds) {
  EXPECT_EQ(redis_back_off(0, 0), 50ms);
  EXPECT_EQ(redis_back_off(1, 0), 100ms);
  EXPECT_EQ(redis_back_off(5, 0), 1600ms);
  EXPECT_EQ(redis_back_off(6, 0), 2s);
  EXPECT_EQ(redis_back_off(4'000'000'000U, 0), 2s);
  EXPECT_GT(redis_back_off(6, 0.999), 1s);
}

TEST(RedisScript, IsKnownByItsSha1) {
  EXPECT_EQ(RedisScript("return 1").sha1, "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
}

}  // namespace
}  // namespace swage
