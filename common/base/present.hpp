#pragma once

#include <optional>
#include <source_location>
#include <string_view>
#include <utility>

#include "common/base/check.hpp"

namespace swage {

/// The value of an optional that holds one unless swage itself has a bug: then the process ends, as
/// in check().
template <class T>
T present(std::optional<T> value, std::string_view why,
          std::source_location where = std::source_location::current()) {
  check(value.has_value(), why, where);
  return *std::move(value);  // NOLINT(bugprone-unchecked-optional-access): checked one line above
}

}  // namespace swage
