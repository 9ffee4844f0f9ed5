#pragma once

#include <string>
#include <vector>

#include "common/k8s/object.hpp"

/// What an API server says of pods, for tests.
namespace swage::k8s {

inline const ResourceType kPods{"", "v1", "pods", "Pod"};
inline constexpr auto kPath = "/api/v1/namespaces/ns/pods";

inline Json pod(const std::string& name, int version, const std::string& value = "") {
  return {{"metadata",
           {{"name", name},
            {"namespace", "ns"},
            {"uid", "uid-" + name},
            {"resourceVersion", std::to_string(version)}}},
          {"v", value}};
}
inline std::string list(const std::vector<Json>& items, int version, const std::string& more = "") {
  Json metadata{{"resourceVersion", std::to_string(version)}};
  if (!more.empty()) metadata["continue"] = more;
  return Json{{"metadata", metadata}, {"items", items}}.dump();
}
inline std::string event(const std::string& type, const Json& object) {
  return Json{{"type", type}, {"object", object}}.dump() + "\n";
}
inline std::string gone_text() {
  return event("ERROR", {{"kind", "Status"}, {"code", 410}, {"reason", "Expired"}});
}

struct Value {
  std::string text;
  static Value from(const Json& object) { return {object.value("v", "")}; }
};

}  // namespace swage::k8s
