#pragma once

#include <string>

#include "common/k8s/object.hpp"

namespace swage::k8s {

/// One line of a watch.
struct WatchEvent {
  enum class Type {
    added,
    modified,
    deleted,
    bookmark,  ///< nothing but a resourceVersion to go on from
    error,     ///< `object` is a Status
  };
  Type type = Type::error;
  Json object;
};

/// Errors: not JSON, no object, an unknown type (transport: the stream is to be given up).
Result<WatchEvent, Error> parse_watch_event(const std::string& line);

}  // namespace swage::k8s
