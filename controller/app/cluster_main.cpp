#include "controller/app/cluster_main.hpp"

#include "common/base/exit_code.hpp"
#include "common/base/files.hpp"
#include "common/base/stop_graces.hpp"
#include "common/log/log.hpp"
#include "controller/app/operator.hpp"
#include "controller/app/program.hpp"

namespace swage::controller {

int run_cluster(const ClusterConfig& config) {
  auto settings = read_cluster_settings(config.config);
  if (!settings) return complain(settings.error().text(), exit_code::kBadInput);
  auto secrets = read_cluster_secrets(*settings);
  if (!secrets) return complain(secrets.error(), exit_code::kMissing);
  auto cluster = config.kubeconfig.empty()
                     ? k8s::in_cluster_config(environment_or("KUBERNETES_SERVICE_HOST", ""),
                                              environment_or("KUBERNETES_SERVICE_PORT", ""))
                     : k8s::kubeconfig(config.kubeconfig);
  if (!cluster) return complain(cluster.error(), exit_code::kMissing);
  if (settings->watch_namespaces.empty()) settings->watch_namespaces = {config.name_space};
  if (settings->require_network_policy)
    settings->must_not_reach =
        must_not_reach(cluster->server, config.address, read_file("/etc/resolv.conf").value_or(""));
  configure_log({settings->log_level, settings->log_json, config.name});
  const auto bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const OperatorSetup setup{std::move(*settings),
                            std::move(*secrets),
                            std::move(*cluster),
                            config.name,
                            config.name_space,
                            config.address,
                            bin.parent_path() / "share" / "swage"};
  return run_program<Operator>(setup, kClusterControllerStop.watchdog());
}

}  // namespace swage::controller
