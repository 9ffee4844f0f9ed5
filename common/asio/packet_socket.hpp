#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/asio/asio.hpp"
#include "common/base/descriptor.hpp"

namespace swage {

/// One end of a SOCK_SEQPACKET pair, whose packets carry text and descriptors. Touched on one
/// strand; one read at a time. A read ends when the peer has closed or close() is called.
class PacketSocket {
 public:
  struct Packet {
    std::string text;
    std::vector<Descriptor> descriptors;
  };

  PacketSocket(asio::any_io_executor strand, Descriptor socket);

  /// The next packet (at most 64 KiB and 250 descriptors), or nothing when the peer has gone.
  Task<std::optional<Packet>> read();
  /// Sends at once; the descriptors stay the caller's. False: the peer has gone, or its queue is
  /// full.
  bool write(const std::string& text, const std::vector<int>& descriptors = {});
  void close();
  bool is_open() const { return socket_.is_open(); }

 private:
  asio::posix::stream_descriptor socket_;
};

/// A connected pair; the second end is for a child process.
std::optional<std::pair<Descriptor, Descriptor>> make_packet_pair();

}  // namespace swage
