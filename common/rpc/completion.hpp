#pragma once

#include <memory>
#include <utility>

#include "common/asio/asio.hpp"

namespace swage::rpc_detail {

/// Carries one completion from a gRPC thread to the coroutine that waits for it. `start` is called
/// with a copyable function object; calling it (once, from any thread) resumes the coroutine on its
/// own executor with `value`.
template <class T, class Start>
Task<T> await_completion(Start start) {
  auto initiate = [&start](auto resume) {
    auto shared = std::make_shared<decltype(resume)>(std::move(resume));
    const auto executor = asio::get_associated_executor(*shared);
    // The outstanding work keeps the io_context running while only gRPC has something to do.
    auto work = asio::prefer(executor, asio::execution::outstanding_work.tracked);
    start([shared, work](T value) {
      asio::post(work,
                 [shared, value = std::move(value)]() mutable { (*shared)(std::move(value)); });
    });
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(T)>(
      initiate, asio::use_awaitable);
}

}  // namespace swage::rpc_detail
