#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"
#include "common/base/result.hpp"
#include "sandbox/adapters/frame_socket.hpp"

namespace swage::sandbox {

/// Where a runner waits for a session that lives in another container of sandboxd's pod: both
/// mount the directory of the socket, the runner's container read-only.
///  1. sandboxd listens; the runner, started by the kubelet, connects before it runs anything.
///  2. sandboxd takes that one connection and listens no more: whatever runs there later cannot
///     pass itself off as the runner.
///  3. When a session begins, the first frame is the runner's settings.
std::filesystem::path runner_socket(const std::filesystem::path& shared_directory);

/// sandboxd's side: connects `socket`. Error: it cannot listen, or `stop`.
Task<Result<void, std::string>> meet_runner(FrameSocket::Socket& socket,
                                            std::filesystem::path shared_directory,
                                            StopSource& stop);

/// The runner's side: blocks until sandboxd listens, then until a session begins. Returns the
/// connected descriptor and the settings' text; nothing: sandboxd has ended before, as those do
/// that nobody needed. Error: it has not come in two minutes.
struct Met {
  int socket = -1;
  std::string settings;
};
Result<std::optional<Met>, std::string> meet_sandboxd(
    const std::filesystem::path& shared_directory);

}  // namespace swage::sandbox
