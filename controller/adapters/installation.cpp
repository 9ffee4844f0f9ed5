#include <sched.h>
#include <unistd.h>

#include <sstream>

#include "common/base/command.hpp"
#include "common/base/files.hpp"
#include "controller/adapters/local_layout.hpp"

namespace swage::controller {
namespace {

namespace fs = std::filesystem;

fs::path find_on_path(const std::string& program, const std::string& path) {
  std::istringstream folders(path);
  std::string folder;
  while (std::getline(folders, folder, ':')) {
    const auto file = fs::path(folder) / program;
    if (!folder.empty() && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

int usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  return CPU_COUNT(&cores);
}

}  // namespace

Result<Installation, std::vector<std::string>> find_installation(const fs::path& bin,
                                                                 const std::string& path,
                                                                 const fs::path& cache) {
  std::vector<std::string> missing;
  Installation out;
  out.bin = bin;
  out.share = bin.parent_path() / "share" / "swage";
  out.cache = cache;
  out.cores = usable_cores();
  for (const auto* program : {"swage-gpu-worker", "swage-policy", "swage-learner",
                              "swage-rollout-worker", "swage-sandboxd", "swage-judge"})
    if (::access((bin / program).c_str(), X_OK) != 0)
      missing.push_back((bin / program).string() + " is missing; build swage with `make build`");
  out.redis_server = find_on_path("redis-server", path);
  if (out.redis_server.empty())
    missing.emplace_back(
        "redis-server is not on PATH; install it: apt-get install redis-server, "
        "or run `make setup`");
  if (find_on_path("bwrap", path).empty())
    missing.emplace_back(
        "bwrap (bubblewrap) is not on PATH; install it: apt-get install "
        "bubblewrap, or run `make setup`");
  const auto environment = cache / "venv";
  out.python = environment / "bin" / "python";
  out.torch = torch_directory(environment);
  if (::access(out.python.c_str(), X_OK) != 0 || out.torch.empty())
    missing.push_back("no torch environment in " + environment.string() + "; run `make setup`");
  if (!missing.empty()) return tl::unexpected(std::move(missing));
  return out;
}

Result<void, std::string> check_containers(const fs::path& bin) {
  const auto asked = run_command({(bin / "swage-sandboxd").string(), "probe"}, CommandOutput::both);
  if (asked.exit_code == 0) return {};
  return tl::unexpected(asked.exit_code == -1 ? "cannot start swage-sandboxd" : asked.text);
}

}  // namespace swage::controller
