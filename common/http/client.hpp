#pragma once

#include <functional>
#include <map>
#include <string>

#include "common/asio/asio.hpp"
#include "common/asio/stop_source.hpp"
#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/http/message.hpp"

namespace swage {

/// `http://host:port` of a swage server, and its token.
struct HttpTarget {
  std::string host;
  std::string port;
  std::string token;
};

/// Splits `http://host:port[/]`. Errors: another scheme, or malformed.
Result<HttpTarget, std::string> parse_http_url(const std::string& url);

/// One request on a connection of its own. Errors (text for people): not reachable, timed out, not
/// HTTP, stopped. Statuses of 300 and above are answers, not errors; of the headers the answer has
/// `location`.
Task<Result<HttpResponse, std::string>> http_request(HttpTarget target, std::string method,
                                                     std::string path, std::string body,
                                                     TimePoint deadline, StopSource& stop);

struct ServerEvent {
  std::string id;
  std::string event;
  std::string data;
};

/// Reads server-sent events until the server ends the stream, `on_event` returns false or `stop` is
/// requested. cursor: sent as Last-Event-ID unless empty. Errors: as http_request, and a status
/// that is not 200.
Task<Result<bool, std::string>> http_events(HttpTarget target, std::string path, std::string cursor,
                                            std::function<bool(const ServerEvent&)> on_event,
                                            StopSource& stop);

}  // namespace swage
