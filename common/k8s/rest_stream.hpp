#pragma once

#include <cpprest/http_client.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/asio/event.hpp"
#include "common/k8s/line_splitter.hpp"
#include "common/k8s/transport.hpp"

namespace swage::k8s {

/// What one streamed answer and its reader share. cpprestsdk's threads call received(), headers()
/// and finished(); everything else is the reader's strand's. cpprestsdk would buffer without bound
/// what the reader has not taken: this counts it and cancels the request instead.
class RestStream {
 public:
  RestStream(asio::any_io_executor strand, const TransportLimits& limits)
      : strand_(std::move(strand)),
        busy_(asio::prefer(strand_, asio::execution::outstanding_work.tracked)),
        limits_(limits),
        splitter_(limits.line),
        changed_(strand_) {}

  void received(const char* data, std::size_t size);
  void headers(int status, std::optional<std::chrono::seconds> retry_after);
  void finished(std::string failure);

  pplx::cancellation_token token() const { return cancel_.get_token(); }
  void cancel() { cancel_.cancel(); }

  /// Waits until the status is known; 0 when there is none.
  Task<int> status();
  /// The next line; nothing at the end, or when `stop` is requested.
  Task<std::optional<std::string>> next(StopSource& stop);
  /// Waits until cpprestsdk lets go of this. Always awaited before the reader goes on.
  Task<> joined();

  const std::string& failure() const { return failure_; }
  std::optional<std::chrono::seconds> retry_after() const { return retry_after_; }
  std::string take_all();

 private:
  asio::any_io_executor strand_, busy_;
  TransportLimits limits_;
  pplx::cancellation_token_source cancel_;

  std::mutex mutex_;  // guards splitter_ and closed_: late data may meet finished()
  LineSplitter splitter_;
  bool closed_ = false;
  std::atomic<std::size_t> unread_ = 0;
  std::string broken_;

  // The strand's.
  Event changed_;
  std::deque<std::string> lines_;
  int status_ = 0;
  std::optional<std::chrono::seconds> retry_after_;
  bool ended_ = false;
  std::string failure_;
};

/// A stream buffer that hands all that is written to a RestStream.
concurrency::streams::streambuf<std::uint8_t> make_stream_buffer(std::shared_ptr<RestStream> to);

}  // namespace swage::k8s
