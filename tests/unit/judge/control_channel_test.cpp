#include "gpu_pool/judge/adapters/control_channel.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "common/base/memory_file.hpp"

namespace swage::judge {
namespace {

using std::chrono::milliseconds;

class ControlChannel : public ::testing::Test {
 protected:
  ControlChannel() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    ours.reset(ends[0]);
    theirs.reset(ends[1]);
  }
  static SteadyTime soon() { return std::chrono::steady_clock::now() + milliseconds(2000); }
  void raw(const std::string& text) const {
    EXPECT_EQ(::send(theirs.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }
  Descriptor ours;
  Descriptor theirs;
};

TEST_F(ControlChannel, CarriesAnObjectAndItsDescriptors) {
  const auto file = make_memory_file("test", "content");
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE(send_packet(theirs.get(), {{"op", "map"}}, {file->get(), file->get()}, soon()));
  const auto packet = receive_packet(ours.get(), soon());
  ASSERT_TRUE(packet.has_value());
  EXPECT_EQ(packet->message["op"], "map");
  ASSERT_EQ(packet->descriptors.size(), 2U);
  EXPECT_EQ(read_memory_file(packet->descriptors[1], 100), "content");
}

TEST_F(ControlChannel, RefusesWhatIsNotOneSmallObject) {
  for (const std::string text : {"[]", "3", "{", "{} {}", "nonsense", "\xFF", R"("{}")"}) {
    raw(text);
    const auto packet = receive_packet(ours.get(), soon());
    ASSERT_FALSE(packet.has_value()) << text;
    EXPECT_EQ(packet.error(), ChannelErrc::malformed);
  }
}

TEST_F(ControlChannel, AllowsEightLevelsAndNotNine) {
  const auto nested = [](int depth) {
    std::string text = R"({"a":)";
    for (int i = 1; i < depth; ++i) text += '[';
    text += '1';
    for (int i = 1; i < depth; ++i) text += ']';
    return text + '}';
  };
  EXPECT_TRUE(parse_packet(nested(8)).has_value());
  EXPECT_FALSE(parse_packet(nested(9)).has_value());
  EXPECT_FALSE(parse_packet(nested(20000)).has_value());
}

TEST_F(ControlChannel, RefusesAPacketBeyond64KiB) {
  raw(R"({"a":")" + std::string(65536 - 8, 'x') + R"("})");
  EXPECT_TRUE(receive_packet(ours.get(), soon()).has_value());
  raw(R"({"a":")" + std::string(65536 - 7, 'x') + R"("})");
  EXPECT_EQ(receive_packet(ours.get(), soon()).error(), ChannelErrc::malformed);
}

TEST_F(ControlChannel, TellsAGonePeerFromASilentOne) {
  const auto now = std::chrono::steady_clock::now();
  EXPECT_EQ(receive_packet(ours.get(), now).error(), ChannelErrc::timed_out);
  theirs.reset(-1);
  EXPECT_EQ(receive_packet(ours.get(), soon()).error(), ChannelErrc::closed);
  EXPECT_EQ(send_packet(ours.get(), {{"a", 1}}, {}, soon()).error(), ChannelErrc::closed);
}

}  // namespace
}  // namespace swage::judge
