#include "common/k8s/config.hpp"

#include <openssl/evp.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "common/base/files.hpp"
#include "common/config/yaml.hpp"

namespace swage::k8s {
namespace {

using Json = nlohmann::json;

std::string text(const Json& object, const char* field) {
  if (!object.is_object()) return "";
  const auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Result<std::string, std::string> decoded(const std::string& base64) {
  std::vector<unsigned char> out(base64.size() / 4 * 3 + 3);
  const int length =
      EVP_DecodeBlock(out.data(), reinterpret_cast<const unsigned char*>(base64.data()),
                      static_cast<int>(base64.size()));
  if (length < 0) return tl::unexpected(std::string("not base64"));
  std::string value(reinterpret_cast<const char*>(out.data()), static_cast<std::size_t>(length));
  while (!value.empty() && value.back() == '\0') value.pop_back();  // what `=` padded
  return value;
}

/// `name-data` (base64) or `name` (a path).
Result<Pem, std::string> pem(const Json& object, const std::string& name,
                             const std::filesystem::path& folder) {
  Pem out;
  if (const auto data = text(object, (name + "-data").c_str()); !data.empty()) {
    auto value = decoded(data);
    if (!value) return tl::unexpected(name + "-data: " + value.error());
    out.text = std::move(*value);
  } else if (const auto path = text(object, name.c_str()); !path.empty()) {
    out.file = folder / path;
  }
  return out;
}

/// The entry called `name` in one of a kubeconfig's lists, e.g. users[].user.
Result<Json, std::string> named(const Json& root, const char* list, const char* field,
                                const std::string& name) {
  const auto entries = root.find(list);
  if (entries != root.end() && entries->is_array())
    for (const auto& entry : *entries)
      if (text(entry, "name") == name && entry.contains(field)) return entry.at(field);
  return tl::unexpected(std::string(list) + " has no \"" + name + "\"");
}

Result<void, std::string> read_user(Config& config, const Json& user,
                                    const std::filesystem::path& folder) {
  if (user.is_object() && (user.contains("exec") || user.contains("auth-provider")))
    return tl::unexpected(std::string("credential plugins are not supported: use a token"));
  auto certificate = pem(user, "client-certificate", folder);
  if (!certificate) return tl::unexpected(certificate.error());
  auto key = pem(user, "client-key", folder);
  if (!key) return tl::unexpected(key.error());
  if (certificate->given() != key->given())
    return tl::unexpected(
        std::string("a client certificate needs its key, and a key its "
                    "certificate"));
  config.certificate = std::move(*certificate);
  config.key = std::move(*key);
  config.token = text(user, "token");
  if (const auto file = text(user, "tokenFile"); !file.empty()) config.token_file = folder / file;
  return {};
}

Result<Config, std::string> from_json(const Json& root, const std::string& wanted,
                                      const std::filesystem::path& folder) {
  const auto name = wanted.empty() ? text(root, "current-context") : wanted;
  const auto context = named(root, "contexts", "context", name);
  if (!context) return tl::unexpected(context.error());
  const auto cluster = named(root, "clusters", "cluster", text(*context, "cluster"));
  if (!cluster) return tl::unexpected(cluster.error());
  const auto user = named(root, "users", "user", text(*context, "user"));
  if (!user) return tl::unexpected(user.error());

  Config config;
  config.server = text(*cluster, "server");
  if (!config.server.starts_with("https://"))
    return tl::unexpected("server \"" + config.server + "\" does not begin with https://");
  auto authority = pem(*cluster, "certificate-authority", folder);
  if (!authority) return tl::unexpected(authority.error());
  config.authority = std::move(*authority);
  config.name_space = text(*context, "namespace");
  if (const auto read = read_user(config, *user, folder); !read)
    return tl::unexpected(read.error());
  return config;
}

}  // namespace

Result<std::string, std::string> Pem::read() const {
  if (file.empty()) return text;
  auto content = read_file(file);
  if (!content) return tl::unexpected(content.error().message);
  return std::move(*content);
}

Result<Config, std::string> in_cluster_config(const std::string& host, const std::string& port,
                                              const std::filesystem::path& folder) {
  if (host.empty() || port.empty())
    return tl::unexpected(
        std::string("KUBERNETES_SERVICE_HOST and _PORT are not set: not in a "
                    "pod"));
  Config config;
  // An IPv6 address stands in brackets.
  config.server =
      "https://" + (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
  config.authority.file = folder / "ca.crt";
  config.token_file = folder / "token";
  for (const auto& needed : {config.authority.file, config.token_file})
    if (!std::filesystem::exists(needed))
      return tl::unexpected(needed.string() + " is missing: the pod has no ServiceAccount token");
  if (auto name = read_file(folder / "namespace")) config.name_space = std::move(*name);
  return config;
}

Result<Config, std::string> kubeconfig(const std::filesystem::path& file,
                                       const std::string& context) {
  const auto content = read_file(file);
  if (!content) return tl::unexpected(content.error().message);
  const auto complain = [&file](const std::string& why) {
    return tl::unexpected(file.string() + ": " + why);
  };
  auto documents = parse_yaml(*content, file.string());
  if (!documents || documents->size() != 1 || !documents->front().value.is_object())
    return complain("not one YAML object");
  auto config = from_json(documents->front().value, context, file.parent_path());
  if (!config) return complain(config.error());
  return config;
}

}  // namespace swage::k8s
