#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"
#include "common/http/message.hpp"

namespace swage {

/// What a streaming handler writes to: server-sent events.
class EventSink {
 public:
  virtual ~EventSink() = default;
  /// One event. id: what a client sends back as `Last-Event-ID`. False: the client has gone.
  virtual Task<bool> send(std::string id, std::string event, std::string data) = 0;
};

/// Answers one request. Runs on the server's strand.
using HttpHandler = std::function<Task<HttpResponse>(HttpRequest)>;
/// Serves one event stream until the client goes or `stop` is requested.
using EventHandler = std::function<Task<>(HttpRequest, EventSink&, StopSource& stop)>;
/// Answers a request that no stream may be opened for; nothing: it may.
using EventRefusal = std::function<std::optional<HttpResponse>(const HttpRequest&)>;

/// One route. `path` may hold `{name}` segments.
struct HttpRoute {
  std::string method;
  std::string path;
  bool open = false;  ///< true: no token needed
  std::variant<HttpHandler, EventHandler> handler;
  EventRefusal refuse = nullptr;  ///< of an event stream; empty: none is refused
};

/// The routes of a server. Pure.
class HttpRouter {
 public:
  void get(std::string path, HttpHandler handler, bool open = false);
  void post(std::string path, HttpHandler handler);
  void events(std::string path, EventHandler handler, EventRefusal refuse = nullptr);

  enum class Found { yes, no_such_path, wrong_method };
  struct Match {
    Found found = Found::no_such_path;
    const HttpRoute* route = nullptr;
  };
  /// Fills request.params when it finds a route.
  Match match(HttpRequest& request) const;
  const std::vector<HttpRoute>& routes() const { return routes_; }

 private:
  std::vector<HttpRoute> routes_;
};

/// `/a%20b?x=1` split and decoded into request.path and request.query. False: malformed.
bool parse_target(std::string_view target, HttpRequest& request);

}  // namespace swage
