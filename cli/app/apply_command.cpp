#include "cli/app/apply_command.hpp"

#include <cstdio>
#include <map>
#include <vector>

#include "common/asio/root.hpp"
#include "common/base/exit_code.hpp"
#include "common/base/files.hpp"
#include "common/config/yaml.hpp"
#include "common/k8s/client.hpp"
#include "common/k8s/config.hpp"
#include "common/k8s/transport.hpp"

namespace swage::cli {
namespace {

using namespace std::chrono_literals;
using k8s::Json;

constexpr auto kAnswerWithin = 30s;
constexpr const char* kApiVersion = "swage.dev/v1alpha1";

int complain(const std::string& what, int code) {
  std::fprintf(stderr, "swage run: %s\n", what.c_str());
  return code;
}

/// One object of the file, and where it goes.
struct Wanted {
  k8s::Target target;
  Json object;
};

Result<Wanted, std::string> wanted_of(const YamlDocument& document, const std::string& file,
                                      const std::string& name_space) {
  static const std::map<std::string, std::string> kPlurals{{"TrainingRun", "trainingruns"},
                                                           {"ProfilingPool", "profilingpools"}};
  const auto at = file + ":" + std::to_string(document.line) + ": ";
  const auto& value = document.value;
  const auto kind = value.is_object() ? value.value("kind", "") : "";
  const auto plural = kPlurals.find(kind);
  if (plural == kPlurals.end() || value.value("apiVersion", "") != kApiVersion)
    return tl::unexpected(at + "only " + kApiVersion +
                          " TrainingRun and ProfilingPool are given to the cluster here; use "
                          "kubectl apply for the rest");
  const auto meta = k8s::meta_of(value);
  if (meta.name.empty()) return tl::unexpected(at + "metadata.name is missing");
  Wanted out{{{"swage.dev", "v1alpha1", plural->second, kind},
              meta.name_space.empty() ? name_space : meta.name_space,
              meta.name},
             value};
  out.object["metadata"]["namespace"] = out.target.name_space;
  return out;
}

int code_of(k8s::Errc code) {
  return code == k8s::Errc::invalid || code == k8s::Errc::not_found || code == k8s::Errc::conflict
             ? exit_code::kBadInput
             : 1;
}

Task<int> apply_all(asio::any_io_executor strand, StopSource& stop, k8s::Config config,
                    std::vector<Wanted> all) {
  std::ignore = strand;
  const auto clock = make_steady_clock();
  const auto transport = k8s::make_rest_transport(config, *clock);
  k8s::Client client(*transport, *clock);
  for (auto& one : all) {
    const auto name = one.target.type.kind + " " + one.target.name_space + "/" + one.target.name;
    const auto done = co_await client.apply(one.target, "", std::move(one.object), "swage",
                                            clock->now() + kAnswerWithin, stop);
    if (!done) {
      const bool no_kind = done.error().code == k8s::Errc::not_found;
      co_return complain(name + ": " + done.error().message +
                             (no_kind ? "; install the chart first (docs/OPERATIONS.md)" : ""),
                         code_of(done.error().code));
    }
    std::printf("%s applied\n", name.c_str());
    if (one.target.type.kind == "TrainingRun")
      std::printf("follow it with: kubectl -n %s get trainingrun %s --watch\n",
                  one.target.name_space.c_str(), one.target.name.c_str());
  }
  co_return 0;
}

}  // namespace

int apply_command(const std::string& file, const std::filesystem::path& kubeconfig) {
  const auto text = read_file(file);
  if (!text) return complain(text.error().message, exit_code::kBadInput);
  const auto documents = parse_yaml(*text, file);
  if (!documents) return complain(documents.error().text(), exit_code::kBadInput);
  auto config = k8s::kubeconfig(kubeconfig);
  if (!config)
    return complain(config.error() + "; or add --local to run on this machine",
                    exit_code::kMissing);
  const auto name_space = config->name_space.empty() ? "default" : config->name_space;
  std::vector<Wanted> all;
  for (const auto& document : *documents) {
    auto wanted = wanted_of(document, file, name_space);
    if (!wanted) return complain(wanted.error(), exit_code::kBadInput);
    all.push_back(std::move(*wanted));
  }
  if (all.empty()) return complain(file + " holds nothing", exit_code::kBadInput);
  return run_root(
      [&](asio::any_io_executor strand, StopSource& stop) {
        return apply_all(std::move(strand), stop, std::move(*config), std::move(all));
      },
      10s);
}

}  // namespace swage::cli
