#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace swage {

/// How each side of a connection finds out that the other has gone without a word: its node lost
/// power, its pod's network went, a firewall forgot the flow. Nothing arrives then, not even an
/// end, and a stream that only listens would wait for ever. So both ping: a peer that stays silent
/// for `every` is asked, and one that has not answered `within` is taken for gone, which ends all
/// calls on the connection with UNAVAILABLE. gRPC's own threads answer, so a busy peer is alive,
/// and one that is stopped (SIGSTOP) counts as gone after both.
struct Keepalive {
  std::chrono::milliseconds every{20'000};  ///< 0: no pings
  std::chrono::milliseconds within{20'000};
};

/// The same channel arguments for both sides, in one place because they must agree: a server ends
/// connections on which pings come more often than it allows, and it allows one in 5 minutes if it
/// is not told.
std::vector<std::pair<std::string, int>> arguments_of(const Keepalive& keepalive);

}  // namespace swage
