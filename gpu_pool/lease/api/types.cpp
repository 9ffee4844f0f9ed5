#include "gpu_pool/lease/api/types.hpp"

#include <algorithm>

namespace swage::lease {

bool valid_id(const std::string& id) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !id.empty() && id.size() <= 96 && std::all_of(id.begin(), id.end(), good);
}

const char* to_string(LeaseErrc code) {
  switch (code) {
    case LeaseErrc::unreachable:
      return "unreachable";
    case LeaseErrc::unanswered:
      return "unanswered";
    case LeaseErrc::no_epoch:
      return "no_epoch";
    case LeaseErrc::stale_epoch:
      return "stale_epoch";
    case LeaseErrc::requeued:
      return "requeued";
    case LeaseErrc::expired:
      return "expired";
    case LeaseErrc::hold_limit:
      return "hold_limit";
    case LeaseErrc::not_holder:
      return "not_holder";
    case LeaseErrc::unknown:
      return "unknown";
    case LeaseErrc::bad_reply:
      return "bad_reply";
  }
  return "?";
}

const char* to_string(RequestClass cls) {
  switch (cls) {
    case RequestClass::score:
      return "score";
    case RequestClass::verify:
      return "verify";
    case RequestClass::profile:
      return "profile";
  }
  return "?";
}

}  // namespace swage::lease
