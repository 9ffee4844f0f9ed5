#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/base/descriptor.hpp"
#include "common/base/result.hpp"

namespace swage::judge {

/// One control packet: a JSON object and the descriptors beside it.
struct Packet {
  nlohmann::json message;
  std::vector<Descriptor> descriptors;
};

/// Why no packet came.
enum class ChannelErrc {
  closed,     ///< the peer has gone
  timed_out,  ///< the deadline passed
  malformed,  ///< too long, too deep, not one JSON object, or not text
};

using SteadyTime = std::chrono::steady_clock::time_point;

/// Sends one packet over SOCK_SEQPACKET; the descriptors stay the caller's. Waits while the socket
/// is full, until `deadline`.
Result<void, ChannelErrc> send_packet(int socket, const nlohmann::json& message,
                                      const std::vector<int>& descriptors, SteadyTime deadline);

/// Waits for one packet. At most 64 KiB, depth 8.
Result<Packet, ChannelErrc> receive_packet(int socket, SteadyTime deadline);

/// Parses the text of a packet: one object, depth <= 8. Nothing for anything else. Never throws.
std::optional<nlohmann::json> parse_packet(std::string_view text);

}  // namespace swage::judge
