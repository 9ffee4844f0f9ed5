#pragma once

#include <cpprest/http_client.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/asio/event.hpp"
#include "common/asio/handoff.hpp"
#include "common/k8s/line_splitter.hpp"
#include "common/k8s/transport.hpp"

namespace swage::k8s {

class RestStream;

/// The end of a streamed answer that cpprestsdk's threads hold, some of them for a while after the
/// answer's end and its reader's: it owns nothing of the reader's io_context by then. cpprestsdk
/// would buffer without bound what the reader has not taken: this counts it and cancels the request
/// instead.
class StreamInbox : public std::enable_shared_from_this<StreamInbox> {
 public:
  StreamInbox(RestStream& reader, const asio::any_io_executor& strand,
              const TransportLimits& limits)
      : reader_(reader), link_(strand), limits_(limits), splitter_(limits.line) {}

  // Any thread.
  void headers(int status, std::optional<std::chrono::seconds> retry_after);
  void received(const char* data, std::size_t size);
  /// Once, and last.
  void finished(std::string failure);
  pplx::cancellation_token token() const { return cancel_.get_token(); }
  void cancel() { cancel_.cancel(); }

 private:
  friend class RestStream;

  RestStream& reader_;  // only in what link_ posts: the reader waits for the last of it
  StrandLink link_;
  TransportLimits limits_;
  pplx::cancellation_token_source cancel_;
  std::atomic<std::size_t> unread_ = 0;

  std::mutex mutex_;  // guards what follows: late data may meet finished()
  LineSplitter splitter_;
  bool closed_ = false;
  std::string broken_;
};

/// The reader's end. Thread: its strand. Life: until joined() has returned.
class RestStream {
 public:
  RestStream(const asio::any_io_executor& strand, const TransportLimits& limits)
      : inbox_(std::make_shared<StreamInbox>(*this, strand, limits)), changed_(strand) {}
  ~RestStream() { inbox_->link_.close(); }
  RestStream(const RestStream&) = delete;
  RestStream& operator=(const RestStream&) = delete;

  const std::shared_ptr<StreamInbox>& inbox() const { return inbox_; }
  void cancel() { inbox_->cancel(); }

  /// Waits until the status is known; 0 when there is none.
  Task<int> status();
  /// The next line; nothing at the end, or when `stop` is requested.
  Task<std::optional<std::string>> next(StopSource& stop);
  /// Waits until cpprestsdk has said its last word. Always awaited before the reader goes on.
  Task<> joined();

  const std::string& failure() const { return failure_; }
  std::optional<std::chrono::seconds> retry_after() const { return retry_after_; }
  std::string take_all();

 private:
  friend class StreamInbox;

  std::shared_ptr<StreamInbox> inbox_;
  Event changed_;
  std::deque<std::string> lines_;
  int status_ = 0;
  std::optional<std::chrono::seconds> retry_after_;
  bool ended_ = false;
  std::string failure_;
};

/// A stream buffer that hands all that is written to an inbox.
concurrency::streams::streambuf<std::uint8_t> make_stream_buffer(std::shared_ptr<StreamInbox> to);

}  // namespace swage::k8s
