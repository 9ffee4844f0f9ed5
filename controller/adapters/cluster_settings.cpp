#include "controller/adapters/cluster_settings.hpp"

#include <optional>
#include <sstream>

#include "common/base/files.hpp"

namespace swage::controller {
namespace {

std::vector<std::string> read_texts(Fields& fields, const char* name) {
  std::vector<std::string> out;
  const auto* list = fields.raw(name);
  if (list == nullptr) return out;
  if (!list->is_array()) {
    fields.complain(name, "must be a list of texts");
    return out;
  }
  for (const auto& item : *list) {
    if (item.is_string())
      out.push_back(item.get<std::string>());
    else
      fields.complain(name, "must hold texts only");
  }
  return out;
}

void read_images(Fields fields, ClusterSettings& out) {
  std::ignore = fields.text("controller", "");  // for the chart
  for (const auto& [name, component] : {std::pair{"rollout_worker", Component::rollout_worker},
                                        {"policy", Component::policy},
                                        {"learner", Component::learner},
                                        {"gpu_worker", Component::gpu_worker},
                                        {"sandbox", Component::sandbox}}) {
    fields.require(name, "a full image reference");
    out.images[component] = fields.text(name, "");
  }
  fields.finish();
}

void read_own(Fields& root, ClusterSettings& out) {
  root.require("service", "what others dial: <Service>.<namespace>.svc.cluster.local:" +
                              std::to_string(kGrpcPort));
  out.service = root.text("service", "");
  out.listen = root.text("listen", out.listen);
  out.http = root.text("http", out.http);
  out.watch_namespaces = read_texts(root, "watch_namespaces");
  out.pool_namespaces = read_texts(root, "pool_namespaces");
  out.token_file = root.text("token_file", out.token_file.string());
  out.sandbox_key_file = root.text("sandbox_key_file", out.sandbox_key_file.string());
  out.redis_directory = root.text("redis_directory", out.redis_directory.string());
  root.require("images", "{rollout_worker, policy, learner, gpu_worker, sandbox}");
  read_images(root.object("images"), out);
  out.image_pull_policy =
      root.one_of("image_pull_policy", {"Always", "IfNotPresent", "Never"}, "IfNotPresent");
  out.image_pull_secrets = read_texts(root, "image_pull_secrets");
  auto accounts = root.object("service_accounts");
  out.workload_account = accounts.text("workload", out.workload_account);
  out.sandbox_account = accounts.text("sandbox", out.sandbox_account);
  out.gpu_account = accounts.text("gpu", out.gpu_account);
  accounts.finish();
  out.python_host_path = root.text("python_host_path", "");
  auto sandbox = root.object("sandbox");
  out.sandbox_runtime_class = sandbox.text("runtime_class_name", "");
  out.sandbox_priority_class = sandbox.text("priority_class", "");
  out.require_network_policy =
      sandbox.boolean("require_network_policy", out.require_network_policy);
  out.sandbox_create_rate = sandbox.number("create_rate", out.sandbox_create_rate, 0.01, 10000);
  sandbox.finish();
  out.evaluation_rollouts = static_cast<std::uint64_t>(root.integer(
      "evaluation_rollouts", static_cast<std::int64_t>(out.evaluation_rollouts), 0, 100000));
  auto log = root.object("log");
  const auto level = log.one_of("level", {"debug", "info", "warning", "error"}, "info");
  out.log_level = level == "debug"     ? LogLevel::debug
                  : level == "warning" ? LogLevel::warning
                  : level == "error"   ? LogLevel::error
                                       : LogLevel::info;
  out.log_json = log.one_of("format", {"text", "json"}, "json") == "json";
  log.finish();
  root.finish();
}

/// A secret's file without line feeds at its end.
std::optional<std::string> read_secret(const std::filesystem::path& file) {
  auto text = read_file(file);
  if (!text) return std::nullopt;
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r')) text->pop_back();
  if (text->empty()) return std::nullopt;
  return *text;
}

bool is_address(const std::string& host) {
  return !host.empty() &&
         (host.starts_with('[') || host.find_first_not_of("0123456789.") == std::string::npos);
}

}  // namespace

std::vector<std::string> must_not_reach(const std::string& server, const std::string& own_host,
                                        const std::string& resolv_conf) {
  std::vector<std::string> out;
  constexpr std::string_view kScheme = "https://";
  if (server.starts_with(kScheme)) {
    const auto address =
        server.substr(kScheme.size(), server.find('/', kScheme.size()) - kScheme.size());
    if (is_address(address.substr(0, address.rfind(':')))) out.push_back(address);
  }
  if (is_address(own_host)) out.push_back(grpc_at(own_host));
  std::istringstream lines(resolv_conf);
  for (std::string word; lines >> word;)
    if (word == "nameserver" && lines >> word && is_address(word)) out.push_back(word + ":53");
  return out;
}

Result<ClusterSettings, ConfigError> read_cluster_settings(const std::filesystem::path& file) {
  const auto text = read_file(file);
  if (!text) return tl::unexpected(ConfigError{{text.error().message}});
  const auto value = nlohmann::json::parse(*text, nullptr, false);
  ConfigError error;
  if (!value.is_object()) {
    error.complaints.push_back(file.string() + ": not a JSON object");
    return tl::unexpected(std::move(error));
  }
  Fields root(value, "", [&](const std::string& path, const std::string& what) {
    error.complaints.push_back(file.string() + ": " + path + " " + what);
  });
  ClusterSettings out;
  read_own(root, out);
  if (!error.complaints.empty()) return tl::unexpected(std::move(error));
  return out;
}

Result<ClusterSecrets, std::string> read_cluster_secrets(const ClusterSettings& settings) {
  ClusterSecrets out;
  for (const auto& [file, value] : {std::pair{settings.token_file, &out.token},
                                    {settings.sandbox_key_file, &out.sandbox_key},
                                    {settings.redis_directory / "url", &out.redis_address},
                                    {settings.redis_directory / "password", &out.redis_password}}) {
    auto read = read_secret(file);
    if (!read)
      return tl::unexpected(file.string() +
                            " is missing or empty: mount the Secret that has this key");
    *value = std::move(*read);
  }
  constexpr std::string_view kScheme = "redis://";
  if (!out.redis_address.starts_with(kScheme))
    return tl::unexpected((settings.redis_directory / "url").string() +
                          " must be redis://host:port");
  out.redis_address.erase(0, kScheme.size());
  while (out.redis_address.ends_with('/')) out.redis_address.pop_back();
  if (out.redis_address.find(':') == std::string::npos) out.redis_address += ":6379";
  return out;
}

}  // namespace swage::controller
