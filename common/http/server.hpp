#pragma once

#include <memory>
#include <string>

#include "common/asio/asio.hpp"
#include "common/asio/stop_source.hpp"
#include "common/base/result.hpp"
#include "common/http/router.hpp"

namespace swage {

struct HttpServerError {
  std::string message;  ///< names the address and the remedy
};

/// One Beast server per long-lived binary: HTTP/1.1, keep-alive, 1 MiB bodies, 30 s to read a
/// request. Thread: everything runs on `strand`. Life: await stop() before it goes.
class HttpServer {
 public:
  /// address: `host:port`, port 0 for any. token: what `authorization: Bearer …` must carry on
  /// routes that are not open. The router is copied. Errors: the address is in use or not
  /// permitted.
  static Result<std::unique_ptr<HttpServer>, HttpServerError> start(asio::any_io_executor strand,
                                                                    const std::string& address,
                                                                    HttpRouter router,
                                                                    std::string token);
  virtual ~HttpServer() = default;
  virtual int port() const = 0;
  /// Stops accepting, ends event streams, waits for requests in hand.
  virtual Task<> stop() = 0;
};

}  // namespace swage
