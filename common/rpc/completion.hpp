#pragma once

#include <utility>

#include "common/asio/handoff.hpp"

namespace swage::rpc_detail {

/// Carries one completion from a gRPC thread to the coroutine that waits for it. `start` is called
/// with a copyable function object; calling it (once, from any thread) resumes the coroutine on its
/// own executor with `value`.
template <class T, class Start>
Task<T> await_completion(Start start) {
  auto initiate = [&start](auto resume) {
    start([handoff = make_handoff(std::move(resume))](T value) {
      handoff->complete(std::move(value));
    });
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(T)>(
      initiate, asio::use_awaitable);
}

}  // namespace swage::rpc_detail
