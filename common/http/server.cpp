#include "common/http/server.hpp"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cctype>
#include <chrono>
#include <utility>

#include "common/asio/gate.hpp"
#include "common/base/digest.hpp"
#include "common/log/log.hpp"

namespace swage {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kBodyLimit = 1 << 20;
constexpr std::size_t kHeaderLimit = 32 << 10;
constexpr std::size_t kConnections = 256;
constexpr auto kReadLimit = std::chrono::seconds(30);

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// Writes server-sent events on one connection.
class StreamSink final : public EventSink {
 public:
  explicit StreamSink(beast::tcp_stream& stream) : stream_(stream) {}

  Task<bool> send(std::string id, std::string event, std::string data) override {
    std::string text;
    if (!id.empty()) text += "id: " + id + "\n";
    if (!event.empty()) text += "event: " + event + "\n";
    for (std::size_t begin = 0; begin <= data.size();) {
      const auto end = std::min(data.find('\n', begin), data.size());
      text += "data: " + data.substr(begin, end - begin) + "\n";
      begin = end + 1;
    }
    text += "\n";
    stream_.expires_after(kReadLimit);
    error_code e;
    co_await asio::async_write(stream_, asio::buffer(text),
                               asio::redirect_error(asio::use_awaitable, e));
    co_return !e;
  }

 private:
  beast::tcp_stream& stream_;
};

class BeastServer final : public HttpServer {
 public:
  BeastServer(asio::any_io_executor strand, tcp::acceptor acceptor, HttpRouter router,
              std::string token)
      : strand_(std::move(strand)),
        acceptor_(std::move(acceptor)),
        router_(std::move(router)),
        token_(std::move(token)),
        accepting_(strand_, stop_, 1),
        connections_(strand_, stop_, kConnections) {}

  void begin() { std::ignore = accepting_.spawn("http accept", accept_loop()); }

  int port() const override { return acceptor_.local_endpoint().port(); }

  Task<> stop() override {
    stop_.request(StopReason::requested);
    co_await accepting_.join();
    co_await connections_.join();
  }

 private:
  Task<> accept_loop() {
    const auto hook = stop_.on_stop([this] { acceptor_.cancel(); });
    while (!stop_.stopping()) {
      tcp::socket socket(strand_);
      error_code e;
      co_await acceptor_.async_accept(socket, asio::redirect_error(asio::use_awaitable, e));
      if (e) {
        if (stop_.stopping()) break;
        asio::steady_timer pause(strand_, std::chrono::milliseconds(100));  // out of descriptors
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, e));
        continue;
      }
      std::ignore = connections_.spawn("http connection", serve(std::move(socket)));
    }
  }

  /// What goes wrong with one connection ends that one only: a failure in the gate ends them all.
  Task<> serve(tcp::socket socket) {
    beast::tcp_stream stream(std::move(socket));
    const auto hook = stop_.on_stop([&stream] { stream.cancel(); });
    try {
      co_await answer_requests(stream);
    } catch (const std::exception& e) {
      log_error("an HTTP connection failed", {{"what", e.what()}});
    }
    error_code ignored;
    stream.socket().shutdown(tcp::socket::shutdown_both, ignored);
  }

  Task<> answer_requests(beast::tcp_stream& stream) {
    beast::flat_buffer buffer;
    bool keep = true;
    while (keep && !stop_.stopping()) {
      http::request_parser<http::string_body> parser;
      parser.body_limit(kBodyLimit);
      parser.header_limit(kHeaderLimit);
      stream.expires_after(kReadLimit);
      error_code e;
      co_await http::async_read(stream, buffer, parser,
                                asio::redirect_error(asio::use_awaitable, e));
      if (e == http::error::body_limit) {
        co_await respond(stream, HttpResponse::problem(413, "Too large", "1 MiB at most"), false);
        break;
      }
      if (e) break;
      auto raw = parser.release();
      keep = raw.keep_alive();
      keep = co_await handle(stream, std::move(raw), keep);
    }
  }

  static HttpRequest translate(const http::request<http::string_body>& raw) {
    HttpRequest request;
    request.method = std::string(raw.method_string());
    for (const auto& field : raw)
      request.headers[lower(std::string(field.name_string()))] = std::string(field.value());
    request.body = raw.body();
    return request;
  }

  bool may_enter(const HttpRoute& route, const HttpRequest& request) const {
    if (route.open || token_.empty()) return true;
    const auto found = request.headers.find("authorization");
    return found != request.headers.end() && constant_time_equal(found->second, "Bearer " + token_);
  }

  /// Returns whether the connection stays open.
  Task<bool> handle(beast::tcp_stream& stream, http::request<http::string_body> raw, bool keep) {
    auto request = translate(raw);
    if (!parse_target({raw.target().data(), raw.target().size()}, request))
      co_return co_await respond(
          stream, HttpResponse::problem(400, "Bad request", "the target is malformed"), false);
    const auto match = router_.match(request);
    if (match.found == HttpRouter::Found::wrong_method)
      co_return co_await respond(
          stream, HttpResponse::problem(405, "Method not allowed", request.method), keep);
    if (match.found == HttpRouter::Found::no_such_path)
      co_return co_await respond(
          stream, HttpResponse::problem(404, "Not found", "no such path: " + request.path), keep);
    if (!may_enter(*match.route, request))
      co_return co_await respond(
          stream,
          HttpResponse::problem(401, "Unauthorized", "send `authorization: Bearer <token>`"), keep);
    if (const auto* events = std::get_if<EventHandler>(&match.route->handler)) {
      if (auto refusal = match.route->refuse ? match.route->refuse(request) : std::nullopt)
        co_return co_await respond(stream, std::move(*refusal), keep);
      co_await stream_events(stream, *events, std::move(request));
      co_return false;
    }
    HttpResponse response;
    try {
      response = co_await std::get<HttpHandler>(match.route->handler)(std::move(request));
    } catch (const std::exception& e) {
      log_error("an HTTP handler threw", {{"path", match.route->path}, {"what", e.what()}});
      response = HttpResponse::problem(500, "Internal error", "see the log");
    }
    co_return co_await respond(stream, std::move(response), keep);
  }

  Task<> stream_events(beast::tcp_stream& stream, EventHandler handler, HttpRequest request) {
    static constexpr char kHead[] =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-store\r\n"
        "connection: close\r\n\r\n";
    error_code e;
    co_await asio::async_write(stream, asio::buffer(kHead, sizeof kHead - 1),
                               asio::redirect_error(asio::use_awaitable, e));
    if (e) co_return;
    StreamSink sink(stream);
    try {
      co_await handler(std::move(request), sink, stop_);
    } catch (const std::exception& failure) {
      log_error("an event handler threw", {{"what", failure.what()}});
    }
  }

  Task<bool> respond(beast::tcp_stream& stream, HttpResponse response, bool keep) {
    http::response<http::string_body> out;
    out.result(static_cast<unsigned>(response.status));
    out.set(http::field::content_type, response.content_type);
    for (const auto& [name, value] : response.headers) out.set(name, value);
    out.body() = std::move(response.body);
    out.keep_alive(keep);
    out.prepare_payload();
    stream.expires_after(kReadLimit);
    error_code e;
    co_await http::async_write(stream, out, asio::redirect_error(asio::use_awaitable, e));
    co_return keep && !e;
  }

  asio::any_io_executor strand_;
  tcp::acceptor acceptor_;
  HttpRouter router_;
  std::string token_;
  StopSource stop_;
  Gate accepting_, connections_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>, HttpServerError> HttpServer::start(asio::any_io_executor strand,
                                                                       const std::string& address,
                                                                       HttpRouter router,
                                                                       std::string token) {
  const auto cut = address.rfind(':');
  error_code e;
  const auto host = asio::ip::make_address(address.substr(0, cut), e);
  int port = -1;
  if (!e && cut != std::string::npos) {
    try {
      port = std::stoi(address.substr(cut + 1));
    } catch (const std::exception&) {
      port = -1;
    }
  }
  if (port < 0 || port > 65535)
    return tl::unexpected(
        HttpServerError{"cannot listen on `" + address + "`: write an address as host:port"});
  tcp::acceptor acceptor(strand);
  const tcp::endpoint endpoint(host, static_cast<unsigned short>(port));
  acceptor.open(endpoint.protocol(), e);
  if (!e) acceptor.set_option(tcp::acceptor::reuse_address(true), e);
  if (!e) acceptor.bind(endpoint, e);
  if (!e) acceptor.listen(asio::socket_base::max_listen_connections, e);
  if (e)
    return tl::unexpected(HttpServerError{"cannot listen on " + address + ": " + e.message() +
                                          "; choose another port, or 0 for any free one"});
  auto server = std::make_unique<BeastServer>(strand, std::move(acceptor), std::move(router),
                                              std::move(token));
  server->begin();
  return server;
}

}  // namespace swage
