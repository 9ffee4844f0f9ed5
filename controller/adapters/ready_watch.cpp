#include "controller/adapters/ready_watch.hpp"

#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace swage::controller {

Result<std::unique_ptr<DirectoryWatch>, std::string> DirectoryWatch::open(
    asio::any_io_executor strand, const std::filesystem::path& directory) {
  const int descriptor = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (descriptor < 0)
    return tl::unexpected(std::string("cannot watch files: ") + std::strerror(errno));
  if (::inotify_add_watch(descriptor, directory.c_str(), IN_MOVED_TO | IN_CLOSE_WRITE) < 0) {
    const int error = errno;
    ::close(descriptor);
    return tl::unexpected("cannot watch " + directory.string() + ": " + std::strerror(error));
  }
  return std::unique_ptr<DirectoryWatch>(new DirectoryWatch(std::move(strand), descriptor));
}

Task<std::vector<std::string>> DirectoryWatch::next(StopSource& stop) {
  std::vector<std::string> names;
  if (stop.stopping()) co_return names;
  const auto hook = stop.on_stop([this] { descriptor_.cancel(); });
  boost::system::error_code woken;
  co_await descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                                  asio::redirect_error(asio::use_awaitable, woken));
  if (stop.stopping()) co_return names;
  alignas(inotify_event) std::array<char, 16384> buffer{};
  const auto got = ::read(descriptor_.native_handle(), buffer.data(), buffer.size());
  for (ssize_t at = 0; at < got;) {
    inotify_event event{};
    std::memcpy(&event, buffer.data() + at, sizeof event);
    if (event.len > 0) names.emplace_back(buffer.data() + at + sizeof event);
    at += static_cast<ssize_t>(sizeof event + event.len);
  }
  co_return names;
}

bool accepts_connections(const std::filesystem::path& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto& text = socket.native();
  if (text.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, text.c_str(), text.size() + 1);
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return false;
  const bool ok =
      ::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(descriptor);
  return ok;
}

}  // namespace swage::controller
