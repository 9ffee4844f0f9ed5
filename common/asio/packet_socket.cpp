#include "common/asio/packet_socket.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace swage {
namespace {

constexpr std::size_t kMaxPacket = 65536;
constexpr std::size_t kMaxDescriptors = 250;

std::vector<Descriptor> descriptors_of(msghdr& header) {
  std::vector<Descriptor> out;
  for (cmsghdr* at = CMSG_FIRSTHDR(&header); at != nullptr; at = CMSG_NXTHDR(&header, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(at) + i * sizeof(int), sizeof number);
      out.emplace_back(number);
    }
  }
  return out;
}

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
  return PacketSocket::Packet{std::move(text), descriptors_of(header)};
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
  const std::size_t payload = descriptors.size() * sizeof(int);
  std::vector<std::byte> ancillary(CMSG_SPACE(payload));
  if (!descriptors.empty()) {
    header.msg_control = ancillary.data();
    header.msg_controllen = ancillary.size();
    cmsghdr* at = CMSG_FIRSTHDR(&header);
    at->cmsg_level = SOL_SOCKET;
    at->cmsg_type = SCM_RIGHTS;
    at->cmsg_len = CMSG_LEN(payload);
    std::memcpy(CMSG_DATA(at), descriptors.data(), payload);
  }
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
