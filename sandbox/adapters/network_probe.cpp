#include "sandbox/adapters/network_probe.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <charconv>
#include <memory>

#include "common/asio/asio.hpp"

namespace swage::sandbox {
namespace {

using Tcp = asio::ip::tcp;

std::optional<Tcp::endpoint> endpoint_of(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  auto host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  unsigned short port = 0;
  const auto* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + colon + 1, end, port);
  boost::system::error_code failed;
  const auto address = asio::ip::make_address(host, failed);
  if (failed || error != std::errc() || at != end) return std::nullopt;
  return Tcp::endpoint(address, port);
}

Task<bool> connects(Tcp::endpoint to, Duration within) {
  const auto strand = co_await asio::this_coro::executor;
  const auto socket = std::make_shared<Tcp::socket>(strand);
  asio::steady_timer late(strand, within);
  late.async_wait([socket](const boost::system::error_code& cancelled) {
    boost::system::error_code ignored;
    if (!cancelled) socket->close(ignored);
  });
  boost::system::error_code failed;
  co_await socket->async_connect(to, asio::redirect_error(asio::use_awaitable, failed));
  late.cancel();
  co_return !failed;
}

}  // namespace

Task<std::optional<std::string>> first_reachable(std::vector<std::string> addresses,
                                                 Duration each) {
  for (const auto& address : addresses) {
    const auto to = endpoint_of(address);
    if (to && co_await connects(*to, each)) co_return address;
  }
  co_return std::nullopt;
}

}  // namespace swage::sandbox
