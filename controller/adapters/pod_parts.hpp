#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "controller/adapters/cluster_layout.hpp"

namespace swage::controller {

// Where things lie in our images (docs/PROCESSES.md).
inline constexpr const char* kBin = "/opt/swage/bin/";
inline constexpr const char* kShare = "/opt/swage/share/swage/";
inline constexpr const char* kPython = "/opt/swage/python";
inline constexpr const char* kConfigAnnotation = "swage.dev/config";
inline constexpr const char* kConfigFolder = "/etc/swage/config";
inline constexpr int kWorkloadUser = 10001;

/// A pod with one container `main` that runs `program --config …`: configuration as an annotation
/// and, by the downward API, as a file; read-only root, /tmp, no token, names by the owner's
/// Service.
nlohmann::json base_pod(const ClusterSettings& settings, const OwnerRef& owner,
                        const char* uid_label, const PodSpec& spec, const std::string& program,
                        const std::string& image);
/// Mounts a Secret of the pod's namespace at /etc/swage/<folder>.
void add_secret(nlohmann::json& pod, const std::string& secret, const std::string& folder);
/// Mounts an emptyDir at `path`.
void add_scratch(nlohmann::json& pod, const std::string& name, const std::string& path,
                 const std::string& limit);
void add_placement(nlohmann::json& pod, const Placement& placement);
/// `{requests, limits}`.
nlohmann::json resources_object(const Resources& resources);
/// Of the first container. Counts of `gpu_resource`, 0: none.
void add_resources(nlohmann::json& pod, const Resources& resources, int gpus,
                   const std::string& gpu_resource);
/// Pod Security `restricted`, as this user.
void restrict(nlohmann::json& pod, int user);
nlohmann::json& main_container(nlohmann::json& pod);

}  // namespace swage::controller
