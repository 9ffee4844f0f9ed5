#include "sandbox/adapters/runner_meeting.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <boost/asio/local/stream_protocol.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace swage::sandbox {
namespace {

namespace fs = std::filesystem;
using Protocol = asio::local::stream_protocol;

constexpr auto kAgain = std::chrono::milliseconds(50);
constexpr int kTries = 2400;
constexpr std::size_t kMaxSettings = 1 << 16;

tl::unexpected<std::string> failed(const std::string& doing) {
  return tl::unexpected(doing + ": " + std::strerror(errno));
}

/// Waits until all bytes are there. False: the other side has gone.
bool read_whole(int socket, char* to, std::size_t size) {
  while (size > 0) {
    const auto got = ::read(socket, to, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

fs::path runner_socket(const fs::path& shared_directory) {
  return shared_directory / "runner.sock";
}

Task<Result<void, std::string>> meet_runner(FrameSocket::Socket& socket, fs::path shared_directory,
                                            StopSource& stop) {
  const auto path = runner_socket(shared_directory);
  std::error_code ignored;
  fs::remove(path, ignored);
  Protocol::acceptor acceptor(socket.get_executor());
  boost::system::error_code failed;
  acceptor.open(Protocol(), failed);
  if (!failed) acceptor.bind(Protocol::endpoint(path.string()), failed);
  if (!failed) acceptor.listen(1, failed);
  if (failed || ::chmod(path.c_str(), 0666) != 0)  // the agent's user connects
    co_return tl::unexpected("cannot listen on " + path.string() + ": " + failed.message());
  const auto hook = stop.on_stop([&acceptor] {
    boost::system::error_code closed;
    acceptor.close(closed);
  });
  co_await acceptor.async_accept(socket, asio::redirect_error(asio::use_awaitable, failed));
  fs::remove(path, ignored);
  if (failed) co_return tl::unexpected("no runner has come: " + failed.message());
  co_return Result<void, std::string>{};
}

Result<std::optional<Met>, std::string> meet_sandboxd(const fs::path& shared_directory) {
  const auto path = runner_socket(shared_directory).string();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return tl::unexpected(path + " is too long for a socket");
  path.copy(address.sun_path, path.size());
  Met out;
  for (int tries = 0; out.socket < 0; ++tries) {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) return failed("no socket");
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      out.socket = socket;
      break;
    }
    const bool later = errno == ENOENT || errno == ECONNREFUSED || errno == EINTR;
    if (!later || tries == kTries) {
      const auto why = failed("cannot reach sandboxd at " + path);
      ::close(socket);
      return why;
    }
    ::close(socket);
    std::this_thread::sleep_for(kAgain);
  }
  std::array<char, 4> header{};
  std::size_t size = 0;
  const bool begun = read_whole(out.socket, header.data(), header.size());
  for (std::size_t i = 0; i < header.size(); ++i)
    size |= std::size_t{static_cast<unsigned char>(header[i])} << (8 * i);
  out.settings.resize(std::min(size, kMaxSettings));
  if (begun && size <= kMaxSettings && read_whole(out.socket, out.settings.data(), size))
    return out;
  ::close(out.socket);
  return std::nullopt;
}

}  // namespace swage::sandbox
