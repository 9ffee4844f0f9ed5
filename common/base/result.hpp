#pragma once

#include <tl/expected.hpp>

namespace swage {

/// A value, or why there is none. Each module has one small enum for `Errc`, and beside it
/// `constexpr FailureKind kind_of(Errc)`.
template <class T, class Errc>
using Result = tl::expected<T, Errc>;

/// What a caller does about a failure.
enum class FailureKind {
  retry,      ///< the same call may succeed later, while time is left
  give_up,    ///< it will not
  cancelled,  ///< somebody asked for it; not an error
};

}  // namespace swage
