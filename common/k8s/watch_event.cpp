#include "common/k8s/watch_event.hpp"

#include <array>
#include <utility>

namespace swage::k8s {

Result<WatchEvent, Error> parse_watch_event(const std::string& line) {
  constexpr std::array<std::pair<std::string_view, WatchEvent::Type>, 5> kTypes{{
      {"ADDED", WatchEvent::Type::added},
      {"MODIFIED", WatchEvent::Type::modified},
      {"DELETED", WatchEvent::Type::deleted},
      {"BOOKMARK", WatchEvent::Type::bookmark},
      {"ERROR", WatchEvent::Type::error},
  }};
  auto json = Json::parse(line, nullptr, false);
  const auto bad = [](const char* why) {
    return tl::unexpected(Error{.code = Errc::transport, .message = why});
  };
  if (!json.is_object()) return bad("a line of the watch is not a JSON object");
  const auto type = json.find("type");
  const auto object = json.find("object");
  if (type == json.end() || !type->is_string() || object == json.end() || !object->is_object())
    return bad("a line of the watch has no type or no object");
  for (const auto& [name, value] : kTypes)
    if (type->get_ref<const std::string&>() == name) return WatchEvent{value, std::move(*object)};
  return bad("a line of the watch has an unknown type");
}

}  // namespace swage::k8s
