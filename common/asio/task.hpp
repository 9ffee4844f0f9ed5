#pragma once

// clang-format off: Boost 1.74's awaitable.hpp uses std::exchange without including <utility>
#include <utility>
#include <boost/asio/awaitable.hpp>
// clang-format on

namespace swage {

/// A coroutine that does nothing until it is awaited or spawned in a Gate.
template <class T = void>
using Task = boost::asio::awaitable<T>;

}  // namespace swage
