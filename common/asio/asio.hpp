#pragma once

// clang-format off: task.hpp first, it works around a missing include of Boost 1.74
#include "common/asio/task.hpp"
// clang-format on

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace swage {

namespace asio = boost::asio;

/// Runs `task` on `strand` and resumes the caller on its own executor. T must be
/// default-constructible (Boost 1.74).
template <class T>
Task<T> on_strand(asio::any_io_executor strand, Task<T> task) {
  return asio::co_spawn(std::move(strand), std::move(task), asio::use_awaitable);
}

}  // namespace swage
