#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.hpp"

namespace swage::k8s {

using Json = nlohmann::json;

enum class Errc {
  conflict,   ///< 409: the object exists, or its resourceVersion is another, or a field has another
              ///< owner
  not_found,  ///< 404
  gone,       ///< 410: the resourceVersion or the page token is too old
  unauthorized,  ///< 401, also after the token was read again
  forbidden,     ///< 403: RBAC or admission says no
  throttled,     ///< 429: not executed
  invalid,       ///< 400, 405, 413, 415, 422: the request itself is wrong
  transport,     ///< no answer, or 5xx. A write may have been executed all the same
  stopped,       ///< the caller asked to stop; a write may have been executed all the same
};

/// Why a call failed. `message` is for people.
struct Error {
  Errc code = Errc::transport;
  int status = 0;  ///< HTTP status; 0: there was no answer
  std::string message = {};
  std::string reason = {};                 ///< the Status object's, e.g. `AlreadyExists`
  std::vector<std::string> causes = {};    ///< reasons of its causes
  std::vector<std::string> managers = {};  ///< who owns the fields that an apply may not take
  std::string continue_token = {};         ///< a 410 on a page may bring one to go on with
  std::optional<std::chrono::seconds> retry_after = {};  ///< the server asks to wait so long
};

constexpr FailureKind kind_of(Errc code) {
  switch (code) {
    case Errc::gone:
    case Errc::throttled:
    case Errc::transport:
    case Errc::unauthorized:  // a token file may be replaced any time
      return FailureKind::retry;
    case Errc::conflict:
    case Errc::not_found:
    case Errc::forbidden:
    case Errc::invalid:
      return FailureKind::give_up;
    case Errc::stopped:
      return FailureKind::cancelled;
  }
  return FailureKind::give_up;
}

/// The error that an answer of status >= 400 is. `body` is a Status object or any text.
Error error_from(int status, const std::string& body, std::optional<std::chrono::seconds> wait);

/// The error inside an ERROR event of a watch: its object is a Status.
Error error_from_status(const Json& status);

/// The server's cache has not caught up with the resourceVersion that was asked for ("future
/// revision" with 500, "too large resource version" with 504): list again from the store.
bool revision_is_ahead(const Error& error);

}  // namespace swage::k8s
