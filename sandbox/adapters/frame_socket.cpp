#include "sandbox/adapters/frame_socket.hpp"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "common/asio/event.hpp"

namespace swage::sandbox {

struct FrameSocket::State {
  explicit State(Socket s) : socket(std::move(s)), drained(socket.get_executor()) {}
  Socket socket;
  std::deque<std::string> queue;
  Event drained;
  bool writing = false;
  bool closed = false;
};

FrameSocket::FrameSocket(Socket socket, std::size_t max_frame)
    : state_(std::make_shared<State>(std::move(socket))), max_frame_(max_frame) {}

// NOLINTNEXTLINE(bugprone-exception-escape): cancelling a steady_timer does not throw
FrameSocket::~FrameSocket() { close(); }

void FrameSocket::close() {
  state_->closed = true;
  boost::system::error_code ignored;
  state_->socket.close(ignored);
  state_->drained.notify();
}

Task<std::optional<std::string>> FrameSocket::read() {
  const auto state = state_;
  std::array<unsigned char, 4> header{};
  boost::system::error_code failed;
  co_await asio::async_read(state->socket, asio::buffer(header),
                            asio::redirect_error(asio::use_awaitable, failed));
  if (failed) co_return std::nullopt;
  std::size_t size = 0;
  for (std::size_t i = 0; i < header.size(); ++i) size |= std::size_t{header[i]} << (8 * i);
  if (size > max_frame_) co_return std::nullopt;
  std::string frame(size, '\0');
  co_await asio::async_read(state->socket, asio::buffer(frame),
                            asio::redirect_error(asio::use_awaitable, failed));
  if (failed) co_return std::nullopt;
  co_return frame;
}

void FrameSocket::send(std::string frame) {
  if (state_->closed) return;
  std::string bytes;
  for (unsigned i = 0; i < 4; ++i) bytes += static_cast<char>(frame.size() >> (8 * i) & 0xffU);
  bytes += frame;
  state_->queue.push_back(std::move(bytes));
  if (!state_->writing) write_next(state_);
}

void FrameSocket::write_next(const std::shared_ptr<State>& state) {
  if (state->queue.empty() || state->closed) {
    state->writing = false;
    state->drained.notify();
    return;
  }
  state->writing = true;
  asio::async_write(state->socket, asio::buffer(state->queue.front()),
                    [state](const boost::system::error_code& error, std::size_t) {
                      if (error) state->closed = true;
                      if (!state->queue.empty()) state->queue.pop_front();
                      write_next(state);
                    });
}

Task<> FrameSocket::flush() {
  const auto state = state_;
  StopSource never;
  while (state->writing && !state->closed) co_await state->drained.wait(never);
}

}  // namespace swage::sandbox
