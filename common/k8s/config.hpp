#pragma once

#include <filesystem>
#include <string>

#include "common/base/result.hpp"

namespace swage::k8s {

/// PEM text, or the file that holds it (read anew for each connection, so that it can be replaced).
struct Pem {
  std::string text;
  std::filesystem::path file;

  bool given() const { return !text.empty() || !file.empty(); }
  /// Errors: the file cannot be read.
  Result<std::string, std::string> read() const;
};

/// How to reach an API server, and as whom.
struct Config {
  std::string server;  ///< `https://host:port`
  Pem authority;
  Pem certificate, key;  ///< both or none
  std::string token;
  std::filesystem::path token_file;  ///< wins over `token`
  std::string name_space;            ///< the pod's, or the context's; may be empty
};

/// What a pod is given. host, port: KUBERNETES_SERVICE_HOST and _PORT, which only `main` may read.
/// Errors (text for people): not in a pod.
Result<Config, std::string> in_cluster_config(
    const std::string& host, const std::string& port,
    const std::filesystem::path& folder = "/var/run/secrets/kubernetes.io/serviceaccount");

/// A kubeconfig file's context (empty: the current one), with certificates and tokens as data or as
/// files, whose relative paths start at the file's folder. Errors (text for people): unreadable,
/// not YAML, a name that leads nowhere, `exec` and other plugins (not supported), no https.
Result<Config, std::string> kubeconfig(const std::filesystem::path& file,
                                       const std::string& context = "");

}  // namespace swage::k8s
