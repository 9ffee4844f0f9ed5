#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/k8s/client.hpp"
#include "controller/api/pod_backend.hpp"

namespace swage::controller {

/// How pods run in a cluster.
struct KubePodSettings {
  std::string name_space;
  std::string selector;  ///< labels that all pods of this backend have, and no others
  /// The whole object of a pod, with owner, labels and annotations. kIncarnationLabel has to carry
  /// PodSpec::uid, kComponentLabel the component's name.
  std::function<k8s::Json(const PodSpec&)> manifest;
  Duration request_deadline = std::chrono::seconds(10);
  /// So long beyond its grace a pod may take to go, then it is removed by force: its node is gone.
  Duration force_after = std::chrono::seconds(15);
};

/// Pods of the Kubernetes API, seen through an informer.
///  1. A pod is created by POST under its own name. When the answer is lost, the name tells: the
///     pod that has our incarnation label is ours.
///  2. A pod that has ended is deleted; its last event follows when it is gone.
///  3. claim() is one patch that names the resourceVersion, so of two leaders one gets it.
/// The server's own uid of a pod stands in no interface: PodSpec::uid, its incarnation, does.
/// Thread: the client's strand. Life: await close() before it goes; that leaves the pods alone.
class KubePodBackend : public PodBackend {
 public:
  virtual Task<> close() = 0;
};

std::unique_ptr<KubePodBackend> make_kube_pod_backend(asio::any_io_executor strand,
                                                      k8s::Client& client,
                                                      KubePodSettings settings);

}  // namespace swage::controller
