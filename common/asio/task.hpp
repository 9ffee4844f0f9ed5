#pragma once

#include <boost/asio/awaitable.hpp>
#include <utility>  // before awaitable.hpp: Boost 1.74 uses std::exchange without including it

namespace swage {

/// A coroutine that does nothing until it is awaited or spawned in a Gate.
template <class T = void>
using Task = boost::asio::awaitable<T>;

}  // namespace swage
