#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "common/asio/handoff.hpp"

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
    asio::post(pool, [state, shared_fn, handoff = make_handoff(std::move(resume))]() {
      try {
        if constexpr (std::is_void_v<T>) {
          (*shared_fn)();
        } else {
          state->value.emplace((*shared_fn)());
        }
      } catch (...) {
        state->failure = std::current_exception();
      }
      handoff->complete();
    });
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(start, asio::use_awaitable);
  if (state->failure) std::rethrow_exception(state->failure);
  if constexpr (!std::is_void_v<T>) co_return std::move(*state->value);
}

}  // namespace swage
