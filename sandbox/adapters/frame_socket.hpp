#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "common/asio/asio.hpp"

namespace swage::sandbox {

/// Messages over a stream socket: length (4 bytes, little endian), then as many bytes. One reader;
/// any number of senders, in order, without waiting. Touched on one strand. close() ends a read.
class FrameSocket {
 public:
  using Socket = asio::local::stream_protocol::socket;
  FrameSocket(Socket socket, std::size_t max_frame);
  ~FrameSocket();
  FrameSocket(const FrameSocket&) = delete;
  FrameSocket& operator=(const FrameSocket&) = delete;

  /// The next frame; nothing when the other side is gone, closed, or sent one above the limit.
  Task<std::optional<std::string>> read();
  /// Queues a frame. What is queued when the socket closes is lost.
  void send(std::string frame);
  /// Waits until everything queued is sent, or the socket is closed.
  Task<> flush();
  void close();

 private:
  struct State;
  static void write_next(const std::shared_ptr<State>& state);
  std::shared_ptr<State> state_;
  std::size_t max_frame_;
};

}  // namespace swage::sandbox
