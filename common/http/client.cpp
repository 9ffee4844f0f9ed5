#include "common/http/client.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <limits>
#include <utility>

namespace swage {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

std::string unreachable(const HttpTarget& target, const error_code& e) {
  return "cannot reach http://" + target.host + ":" + target.port + ": " +
         (e == beast::error::timeout ? "timed out" : e.message());
}

Task<error_code> connect(beast::tcp_stream& stream, HttpTarget target) {
  tcp::resolver resolver(co_await asio::this_coro::executor);
  error_code e;
  const auto found = co_await resolver.async_resolve(target.host, target.port,
                                                     asio::redirect_error(asio::use_awaitable, e));
  if (!e) co_await stream.async_connect(found, asio::redirect_error(asio::use_awaitable, e));
  co_return e;
}

http::request<http::string_body> make_request(const HttpTarget& target, const std::string& method,
                                              const std::string& path, std::string body) {
  http::request<http::string_body> request;
  request.method_string(method);
  request.target(path);
  request.version(11);
  request.set(http::field::host, target.host + ":" + target.port);
  if (!target.token.empty()) request.set(http::field::authorization, "Bearer " + target.token);
  if (!body.empty()) request.set(http::field::content_type, "application/json");
  request.body() = std::move(body);
  request.prepare_payload();
  return request;
}

/// Takes whole events (blocks that end in an empty line) off the front of `text`.
bool take_event(std::string& text, ServerEvent& event) {
  const auto end = text.find("\n\n");
  if (end == std::string::npos) return false;
  event = {};
  for (std::size_t begin = 0; begin < end;) {
    const auto stop = std::min(text.find('\n', begin), end);
    const auto line = text.substr(begin, stop - begin);
    const auto value = [&](std::size_t skip) { return line.substr(std::min(skip, line.size())); };
    if (line.starts_with("id: ")) event.id = value(4);
    if (line.starts_with("event: ")) event.event = value(7);
    if (line.starts_with("data: ")) event.data += (event.data.empty() ? "" : "\n") + value(6);
    begin = stop + 1;
  }
  text.erase(0, end + 2);
  return true;
}

}  // namespace

Result<HttpTarget, std::string> parse_http_url(const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme))
    return tl::unexpected("`" + url + "` is not an address: write http://host:port");
  auto rest = url.substr(kScheme.size());
  if (!rest.empty() && rest.back() == '/') rest.pop_back();
  const auto cut = rest.rfind(':');
  if (cut == std::string::npos || cut == 0 || cut + 1 == rest.size() ||
      rest.find('/') != std::string::npos)
    return tl::unexpected("`" + url + "` is not an address: write http://host:port");
  return HttpTarget{rest.substr(0, cut), rest.substr(cut + 1), ""};
}

Task<Result<HttpResponse, std::string>> http_request(HttpTarget target, std::string method,
                                                     std::string path, std::string body,
                                                     TimePoint deadline, StopSource& stop) {
  if (stop.stopping()) co_return tl::unexpected(std::string("stopped"));
  beast::tcp_stream stream(co_await asio::this_coro::executor);
  const auto hook = stop.on_stop([&stream] { stream.cancel(); });
  stream.expires_at(deadline);
  auto e = co_await connect(stream, target);
  if (e) co_return tl::unexpected(unreachable(target, e));
  auto request = make_request(target, method, path, std::move(body));
  co_await http::async_write(stream, request, asio::redirect_error(asio::use_awaitable, e));
  if (e) co_return tl::unexpected(unreachable(target, e));
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(256ULL << 20);
  co_await http::async_read(stream, buffer, parser, asio::redirect_error(asio::use_awaitable, e));
  if (e) co_return tl::unexpected(unreachable(target, e));
  auto answer = parser.release();
  HttpResponse out;
  out.status = static_cast<int>(answer.result_int());
  out.content_type = std::string(answer[http::field::content_type]);
  if (const std::string where(answer[http::field::location]); !where.empty())
    out.headers.emplace_back("location", where);
  out.body = std::move(answer.body());
  co_return out;
}

Task<Result<bool, std::string>> http_events(HttpTarget target, std::string path, std::string cursor,
                                            std::function<bool(const ServerEvent&)> on_event,
                                            StopSource& stop) {
  if (stop.stopping()) co_return tl::unexpected(std::string("stopped"));
  beast::tcp_stream stream(co_await asio::this_coro::executor);
  const auto hook = stop.on_stop([&stream] { stream.cancel(); });
  stream.expires_after(std::chrono::seconds(10));
  auto e = co_await connect(stream, target);
  if (e) co_return tl::unexpected(unreachable(target, e));
  auto request = make_request(target, "GET", path, "");
  request.set(http::field::accept, "text/event-stream");
  if (!cursor.empty()) request.set("Last-Event-ID", cursor);
  co_await http::async_write(stream, request, asio::redirect_error(asio::use_awaitable, e));
  beast::flat_buffer buffer;
  http::response_parser<http::buffer_body> parser;
  // Not boost::none: Boost 1.74 takes that for a limit of zero where the answer states its length.
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  if (!e)
    co_await http::async_read_header(stream, buffer, parser,
                                     asio::redirect_error(asio::use_awaitable, e));
  if (e) co_return tl::unexpected(unreachable(target, e));
  if (parser.get().result_int() != 200)
    co_return tl::unexpected("the server answered with status " +
                             std::to_string(parser.get().result_int()));
  stream.expires_never();
  std::string text;
  char block[4096];
  while (!parser.is_done()) {
    parser.get().body().data = block;
    parser.get().body().size = sizeof block;
    co_await http::async_read_some(stream, buffer, parser,
                                   asio::redirect_error(asio::use_awaitable, e));
    text.append(block, sizeof block - parser.get().body().size);
    for (ServerEvent event; take_event(text, event);)
      if (!on_event(event)) co_return true;
    if (e && e != http::error::need_buffer) break;
  }
  if (stop.stopping()) co_return tl::unexpected(std::string("stopped"));
  co_return true;
}

}  // namespace swage
