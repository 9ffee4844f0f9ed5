#include "cli/app/run_command.hpp"

#include <cstdio>
#include <filesystem>

#include "cli/adapters/controller_log.hpp"
#include "cli/app/apply_command.hpp"
#include "cli/app/choose_out.hpp"
#include "cli/app/find_system.hpp"
#include "cli/app/local_runner.hpp"
#include "common/asio/root.hpp"
#include "common/base/exit_code.hpp"
#include "common/base/files.hpp"

namespace swage::cli {
namespace {

using namespace std::chrono_literals;

/// Where kubectl looks.
std::filesystem::path default_kubeconfig() {
  const auto named = environment_or("KUBECONFIG", "");
  if (!named.empty()) return named.substr(0, named.find(':'));
  return std::filesystem::path(environment_or("HOME", "/")) / ".kube" / "config";
}

int complain(const std::string& what, int code = exit_code::kBadInput) {
  std::fprintf(stderr, "swage run: %s\n", what.c_str());
  return code;
}

}  // namespace

int run_command(RunOptions options) {
  if (options.file.empty() && !options.resume)
    return complain("name a TrainingRun file, e.g. examples/quickstart.yaml");
  if (!options.file.empty() && !std::filesystem::exists(options.file))
    return complain(options.file + " does not exist");
  if (!options.local && !options.resume) return apply_command(options.file, default_kubeconfig());
  const auto chosen = choose_out(options, where_from(options.server, options.out));
  if (!chosen) return complain(chosen.error().message, chosen.error().code);
  if (!chosen->notice.empty()) std::fprintf(stderr, "swage run: %s\n", chosen->notice.c_str());
  options.resume = chosen->resume;
  auto log = ControllerLog::take(chosen->out);
  if (!log)
    return complain(log.error().message,
                    log.error().in_use ? exit_code::kBadInput : exit_code::kNotWritable);
  LocalRunner runner(std::move(options), chosen->out, std::move(*log));
  return run_root([&runner](asio::any_io_executor strand,
                            StopSource& stop) { return runner.run(std::move(strand), stop); },
                  120s, [] { return std::string("the controller (swage run)"); });
}

}  // namespace swage::cli
