#pragma once

#include <memory>
#include <utility>

#include "common/asio/event.hpp"
#include "common/rpc/server.hpp"

namespace swage::controller {

/// The writing side of one server stream: what is pushed goes out in order. Touched on one strand.
template <class In, class Out>
class Outbox {
 public:
  explicit Outbox(const asio::any_io_executor& strand) : queue_(strand) {}
  void push(Out message) { queue_.push(std::move(message)); }
  void close() { queue_.close(); }

  /// Writes until closed and empty, the client has gone, or `gone` is requested.
  static Task<> run(std::shared_ptr<Outbox> self, BidiStream<In, Out> stream,
                    std::shared_ptr<StopSource> gone) {
    while (auto message = co_await self->queue_.pop(*gone)) {
      const bool written = co_await stream.write(std::move(*message));
      if (!written) co_return;
    }
  }

 private:
  Mailbox<Out> queue_;
};

}  // namespace swage::controller
