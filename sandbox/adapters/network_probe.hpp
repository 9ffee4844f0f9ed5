#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/asio/task.hpp"
#include "common/base/time.hpp"

namespace swage::sandbox {

/// The first of `addresses` (`IP:port`, `[IPv6]:port`) that takes a TCP connection within `each`;
/// nothing: none does. What is no address of this form is passed over.
Task<std::optional<std::string>> first_reachable(std::vector<std::string> addresses, Duration each);

}  // namespace swage::sandbox
