#include "gpu_pool/judge/adapters/control_channel.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "common/base/descriptor_passing.hpp"
#include "common/base/json_text.hpp"

namespace swage::judge {
namespace {

constexpr std::size_t kMaxPacket = 65536;
constexpr std::size_t kMaxDescriptors = 250;
constexpr int kMaxDepth = 8;

/// Milliseconds until the deadline, rounded up, for poll.
int remaining_ms(SteadyTime deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000'000));
}

bool wait_for(int socket, short events, SteadyTime deadline) {
  pollfd watched{socket, events, 0};
  while (true) {
    const int ready = ::poll(&watched, 1, remaining_ms(deadline));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

}  // namespace

std::optional<nlohmann::json> parse_packet(std::string_view text) {
  bool too_deep = false;
  const auto watch = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    too_deep = too_deep || depth > kMaxDepth;
    return !too_deep;
  };
  auto parsed = nlohmann::json::parse(text, watch, /*allow_exceptions=*/false);
  if (too_deep || !parsed.is_object()) return std::nullopt;
  return parsed;
}

Result<void, ChannelErrc> send_packet(int socket, const nlohmann::json& message,
                                      const std::vector<int>& descriptors, SteadyTime deadline) {
  std::string text = json_text(message);
  if (text.size() > kMaxPacket) return tl::unexpected(ChannelErrc::malformed);
  iovec part{text.data(), text.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  const auto ancillary = attach_descriptors(header, descriptors);
  while (true) {
    if (::sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return {};
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return tl::unexpected(ChannelErrc::closed);
    if (!wait_for(socket, POLLOUT, deadline)) return tl::unexpected(ChannelErrc::timed_out);
  }
}

Result<Packet, ChannelErrc> receive_packet(int socket, SteadyTime deadline) {
  std::string text(kMaxPacket + 1, '\0');
  std::vector<std::byte> ancillary(CMSG_SPACE(kMaxDescriptors * sizeof(int)));
  while (true) {
    if (!wait_for(socket, POLLIN, deadline)) return tl::unexpected(ChannelErrc::timed_out);
    iovec part{text.data(), text.size()};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = ancillary.data();
    header.msg_controllen = ancillary.size();
    const ssize_t got = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return tl::unexpected(ChannelErrc::closed);
    Packet packet;
    packet.descriptors = take_descriptors(header);
    if (got == 0) return tl::unexpected(ChannelErrc::closed);
    if (static_cast<std::size_t>(got) > kMaxPacket || (header.msg_flags & MSG_TRUNC) != 0)
      return tl::unexpected(ChannelErrc::malformed);
    auto message = parse_packet(std::string_view(text).substr(0, static_cast<std::size_t>(got)));
    if (!message) return tl::unexpected(ChannelErrc::malformed);
    packet.message = std::move(*message);
    return packet;
  }
}

}  // namespace swage::judge
