#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/asio/asio.hpp"
#include "common/asio/clock.hpp"
#include "common/asio/stop_source.hpp"
#include "common/k8s/config.hpp"
#include "common/k8s/error.hpp"

namespace swage::k8s {

struct Request {
  std::string method;
  std::string path;  ///< with its query
  std::string body;
  std::string content_type = "application/json";
};

/// Requests to one API server. An answer of status 400 and above is an Error.
/// Thread: one strand, the callers'. Life: outlives its calls.
class Transport {
 public:
  virtual ~Transport() = default;

  /// The body of the answer. Errors: `transport` also for a deadline, `stopped`.
  virtual Task<Result<std::string, Error>> request(Request request, TimePoint deadline,
                                                   StopSource& stop) = 0;

  /// Calls `on_line` for each line of the answer until the server ends it (no error), `on_line`
  /// returns false (no error), `stop` is requested, or it breaks. A reader that falls behind by
  /// 16 MiB, a line above 2 MiB, no status in 30 s and 100 s without a line break it.
  virtual Task<Result<bool, Error>> stream(Request request,
                                           std::function<bool(std::string)> on_line,
                                           StopSource& stop) = 0;
};

struct TransportLimits {
  std::size_t in_flight = 32;  ///< each request in flight has a connection
  std::size_t unread = std::size_t{16} << 20;
  std::size_t line = std::size_t{2} << 20;
  /// To connect, shake hands and send the status of a stream, or all of another answer: what was
  /// sent into a connection that leads nowhere is noticed by nothing else.
  std::chrono::milliseconds answer{30'000};
  std::chrono::milliseconds silence{100'000};  ///< of a stream; bookmarks come each minute
};

/// Over cpprestsdk. Tokens are read again from their file every minute and at a 401, certificate
/// files at each connection.
std::unique_ptr<Transport> make_rest_transport(Config config, Clock& clock,
                                               TransportLimits limits = {});

/// Starts cpprestsdk's threads; first in `main`, before anything else uses that library. Without it
/// the first transport does so.
void start_http_threads();

}  // namespace swage::k8s
