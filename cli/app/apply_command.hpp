#pragma once

#include <filesystem>
#include <string>

namespace swage::cli {

/// `swage run FILE` without --local: gives the file's TrainingRuns and ProfilingPools to the
/// cluster of the kubeconfig, by server-side apply, so that doing it again changes what the file
/// changed. An object without a namespace goes to the context's. Returns the exit code: 64 for a
/// file or an object that cannot be used, 69 without a usable kubeconfig, 1 when the API server
/// does not answer.
int apply_command(const std::string& file, const std::filesystem::path& kubeconfig);

}  // namespace swage::cli
