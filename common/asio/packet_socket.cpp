#include "common/asio/packet_socket.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstddef>

#include "common/base/descriptor_passing.hpp"

namespace swage {
namespace {

constexpr std::size_t kMaxPacket = 65536;
constexpr std::size_t kMaxDescriptors = 250;

/// One packet that is there; nothing when the peer has gone. `again`: none is there yet.
std::optional<PacketSocket::Packet> receive(int socket, bool& again) {
  std::string text(kMaxPacket, '\0');
  std::vector<std::byte> ancillary(CMSG_SPACE(kMaxDescriptors * sizeof(int)));
  iovec part{text.data(), text.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = ancillary.data();
  header.msg_controllen = ancillary.size();
  const ssize_t got = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  again = got < 0 && (errno == EAGAIN || errno == EINTR);
  if (got <= 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(got));
  return PacketSocket::Packet{std::move(text), take_descriptors(header)};
}

}  // namespace

PacketSocket::PacketSocket(asio::any_io_executor strand, Descriptor socket)
    : socket_(std::move(strand), socket.release()) {}

Task<std::optional<PacketSocket::Packet>> PacketSocket::read() {
  while (socket_.is_open()) {
    bool again = false;
    auto packet = receive(socket_.native_handle(), again);
    if (packet || !again) co_return packet;
    boost::system::error_code failed;
    co_await socket_.async_wait(asio::posix::stream_descriptor::wait_read,
                                asio::redirect_error(asio::use_awaitable, failed));
    if (failed) break;
  }
  co_return std::nullopt;
}

bool PacketSocket::write(const std::string& text, const std::vector<int>& descriptors) {
  if (!socket_.is_open()) return false;
  iovec part{const_cast<char*>(text.data()), text.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  const auto ancillary = attach_descriptors(header, descriptors);
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(socket_.native_handle(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

void PacketSocket::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

std::optional<std::pair<Descriptor, Descriptor>> make_packet_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return std::nullopt;
  return std::pair(Descriptor(ends[0]), Descriptor(ends[1]));
}

}  // namespace swage
