#include "common/k8s/discover.hpp"

namespace swage::k8s {
namespace {

Error unreadable() { return {.code = Errc::transport, .message = "not a discovery document"}; }

std::string text(const Json& object, const char* field) {
  if (!object.is_object()) return "";
  const auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// Subresources (`pods/status`) are no types of their own.
std::vector<ResourceType> types_of(const Json& document, const std::string& group,
                                   const std::string& version) {
  std::vector<ResourceType> out;
  const auto resources = document.find("resources");
  if (resources == document.end() || !resources->is_array()) return out;
  for (const auto& resource : *resources) {
    auto plural = text(resource, "name");
    if (plural.empty() || plural.find('/') != std::string::npos) continue;
    const auto namespaced = resource.find("namespaced");
    out.push_back({group, version, std::move(plural), text(resource, "kind"),
                   namespaced != resource.end() && *namespaced == true});
  }
  return out;
}

}  // namespace

Task<Result<std::vector<ResourceType>, Error>> discover(Client& client, std::string group,
                                                        TimePoint deadline, StopSource& stop) {
  std::string version = "v1";
  if (!group.empty()) {
    const auto body = co_await client.send({"GET", "/apis/" + group, ""}, deadline, stop);
    if (!body) co_return tl::unexpected(body.error());
    const auto document = Json::parse(*body, nullptr, false);
    if (!document.is_object() || !document.contains("preferredVersion"))
      co_return tl::unexpected(unreadable());
    version = text(document.at("preferredVersion"), "version");
  }
  const auto path = group.empty() ? "/api/" + version : "/apis/" + group + "/" + version;
  const auto body = co_await client.send({"GET", path, ""}, deadline, stop);
  if (!body) co_return tl::unexpected(body.error());
  const auto document = Json::parse(*body, nullptr, false);
  if (!document.is_object()) co_return tl::unexpected(unreadable());
  co_return types_of(document, group, version);
}

}  // namespace swage::k8s
