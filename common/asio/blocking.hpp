#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "common/asio/asio.hpp"

namespace swage {

/// Runs `fn` (plain, blocking) on `pool` and resumes the caller on its own executor with the
/// result. What `fn` throws is rethrown here. `fn` must not touch any strand's state.
template <class Fn>
Task<std::invoke_result_t<Fn&>> run_blocking(asio::thread_pool& pool, Fn fn) {
  using T = std::invoke_result_t<Fn&>;
  struct State {
    std::exception_ptr failure;
    std::optional<std::conditional_t<std::is_void_v<T>, char, T>> value;
  };
  auto state = std::make_shared<State>();
  auto shared_fn = std::make_shared<Fn>(std::move(fn));
  auto start = [&pool, state, shared_fn](auto resume) {
    auto shared = std::make_shared<decltype(resume)>(std::move(resume));
    asio::post(pool, [state, shared_fn, shared]() {
      try {
        if constexpr (std::is_void_v<T>) {
          (*shared_fn)();
        } else {
          state->value.emplace((*shared_fn)());
        }
      } catch (...) {
        state->failure = std::current_exception();
      }
      const auto executor = asio::get_associated_executor(*shared);
      asio::post(executor, [shared]() { std::move (*shared)(); });
    });
  };
  // Keeps the caller's executor counted as busy, so that its io_context does not run out of work.
  const auto executor = co_await asio::this_coro::executor;
  const auto busy = asio::prefer(executor, asio::execution::outstanding_work.tracked);
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(start, asio::use_awaitable);
  if (state->failure) std::rethrow_exception(state->failure);
  if constexpr (!std::is_void_v<T>) co_return std::move(*state->value);
}

}  // namespace swage
