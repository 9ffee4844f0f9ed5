#include "common/redis/link.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <optional>
#include <utility>

namespace swage {
namespace {

using boost::system::error_code;
using Tcp = asio::ip::tcp;

RedisError unreachable(const std::string& what, const std::string& why) {
  return {RedisErrc::unreachable, what + ": " + why};
}

/// Finds a dead peer within about 11 seconds, idle or not. Only called for TCP.
void watch_peer(int descriptor) {
  const auto set = [descriptor](int level, int name, int value) {
    ::setsockopt(descriptor, level, name, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 11'000);
}

/// The value of `field:` in the text that INFO returns.
std::string info_field(const std::string& info, const std::string& field) {
  const auto at = info.find(field + ":");
  if (at == std::string::npos) return {};
  const auto begin = at + field.size() + 1;
  return info.substr(begin, info.find_first_of("\r\n", begin) - begin);
}

Task<Result<Tcp::resolver::results_type, RedisError>> resolve(std::string host, std::string port) {
  Tcp::resolver resolver(co_await asio::this_coro::executor);
  error_code failed;
  auto found = co_await resolver.async_resolve(host, port,
                                               asio::redirect_error(asio::use_awaitable, failed));
  if (failed) co_return tl::unexpected(unreachable(host + ":" + port, failed.message()));
  co_return found;
}

}  // namespace

Task<Result<void, RedisError>> RedisLink::open(RedisConfig config, TimePoint deadline,
                                               StopSource& stop) {
  if (stop.stopping()) co_return tl::unexpected(unreachable(config.address, "stopping"));
  const auto self = shared_from_this();
  const auto hook = stop.on_stop([self] { self->close(); });
  opening_ = true;
  limit_.expires_at(deadline);
  limit_.async_wait([self](const error_code& cancelled) {
    if (!cancelled && self->opening_) self->close();
  });
  auto opened = co_await connect(config.address);
  if (opened && !config.password.empty()) opened = co_await authenticate(config.password);
  if (opened && config.check_server) opened = co_await check_server();
  opening_ = false;
  limit_.cancel();
  if (opened && closed_) opened = tl::unexpected(unreachable(config.address, "timed out"));
  if (!opened) close();
  co_return opened;
}

Task<Result<void, RedisError>> RedisLink::connect(std::string address) {
  if (address.starts_with("unix:")) {
    const std::string path = address.substr(5);
    if (path.empty() || path.size() > 107)
      co_return tl::unexpected(unreachable(address, "a socket path has 1 to 107 bytes"));
    co_return co_await connect_to(asio::local::stream_protocol::endpoint(path));
  }
  const auto colon = address.rfind(':');
  if (colon == std::string::npos)
    co_return tl::unexpected(unreachable(address, "neither unix:/path nor host:port"));
  const auto found = co_await resolve(address.substr(0, colon), address.substr(colon + 1));
  if (!found) co_return tl::unexpected(found.error());
  Result<void, RedisError> connected = tl::unexpected(unreachable(address, "no address"));
  for (const auto& entry : *found) {
    connected = co_await connect_to(entry.endpoint());
    if (connected || closed_) break;
  }
  if (connected) watch_peer(socket_.native_handle());
  co_return connected;
}

Task<Result<void, RedisError>> RedisLink::connect_to(
    asio::generic::stream_protocol::endpoint endpoint) {
  error_code failed;
  if (closed_) co_return tl::unexpected(unreachable("connect", "timed out"));
  if (socket_.is_open()) socket_.close(failed);
  co_await socket_.async_connect(endpoint, asio::redirect_error(asio::use_awaitable, failed));
  if (failed) co_return tl::unexpected(unreachable("connect", failed.message()));
  co_return Result<void, RedisError>{};
}

Task<Result<void, RedisError>> RedisLink::authenticate(std::string password) {
  std::vector<std::string> arguments = {"AUTH", std::move(password)};
  const auto reply = co_await exchange(std::move(arguments));
  if (!reply) co_return tl::unexpected(reply.error());
  co_return Result<void, RedisError>{};
}

Task<Result<void, RedisError>> RedisLink::check_server() {
  std::vector<std::string> ask = {"INFO", "server"};
  const auto info = co_await exchange(std::move(ask));
  if (!info) co_return tl::unexpected(info.error());
  const std::string version = info_field(info->text, "redis_version");
  int major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  if (major < 7)
    co_return tl::unexpected(
        RedisError{RedisErrc::refused, "Redis 7.0 or newer is needed, this is " + version});
  ask = {"CONFIG", "GET", "maxmemory-policy"};
  const auto policy = co_await exchange(std::move(ask));
  // Managed servers forbid CONFIG; then the administrator has to know.
  if (!policy && policy.error().code != RedisErrc::refused)
    co_return tl::unexpected(policy.error());
  if (policy && policy->items.size() == 2 && policy->items[1].text != "noeviction")
    co_return tl::unexpected(RedisError{
        RedisErrc::refused, "maxmemory-policy must be noeviction, it is " + policy->items[1].text});
  co_return Result<void, RedisError>{};
}

Task<RedisReply> RedisLink::exchange(std::vector<std::string> arguments) {
  const bool written = co_await write(redis_command_bytes(arguments));
  if (!written) co_return tl::unexpected(unreachable(arguments[0], "connection lost"));
  auto reply = co_await read();
  if (reply && reply->kind == RedisValue::Kind::error)
    co_return tl::unexpected(redis_error_from(reply->text));
  co_return reply;
}

Task<RedisReply> RedisLink::read() {
  for (;;) {
    auto next = decoder_.next();
    if (!next) co_return tl::unexpected(next.error());
    if (auto& value = *next) co_return std::move(*value);
    if (closed_) co_return tl::unexpected(unreachable("read", "closed"));
    error_code failed;
    const auto count = co_await socket_.async_read_some(
        asio::buffer(buffer_), asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return tl::unexpected(unreachable("read", failed.message()));
    decoder_.feed({buffer_.data(), count});
  }
}

Task<bool> RedisLink::write(std::string bytes) {
  if (closed_) co_return false;
  error_code failed;
  co_await asio::async_write(socket_, asio::buffer(bytes),
                             asio::redirect_error(asio::use_awaitable, failed));
  co_return !failed;
}

void RedisLink::close() {
  closed_ = true;
  limit_.cancel();
  error_code ignored;
  if (socket_.is_open()) socket_.close(ignored);
}

}  // namespace swage
