#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <string>

#include "common/asio/root.hpp"
#include "common/base/stop_graces.hpp"
#include "common/log/log.hpp"
#include "sandbox/adapters/host.hpp"
#include "sandbox/adapters/runner_meeting.hpp"
#include "sandbox/app/config.hpp"
#include "sandbox/app/runner.hpp"
#include "sandbox/app/server.hpp"

namespace {

using namespace swage;
using namespace swage::sandbox;

constexpr int kBadCommandLine = 64;
constexpr int kMissing = 69;
constexpr int kRunnerSocket = 3;

int serve_main(const std::string& file) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  auto config = read_sandbox_config(file, program);
  if (!config) {
    std::fprintf(stderr, "%s\n", config.error().text().c_str());
    return kBadCommandLine;
  }
  configure_log({config->process.log_level, config->process.log_json, config->process.name});
  return run_root(
      [&](asio::any_io_executor strand, StopSource& stop) {
        return serve(std::move(strand), std::move(*config), program, stop);
      },
      kSandboxStop.watchdog());
}

/// Says whether agents can be contained here as they have to be.
int probe_main() {
  const auto host = probe_host();
  if (!host.containers) {
    std::fprintf(stderr, "%s\n", host.container_problem.c_str());
    return kMissing;
  }
  std::printf("%s\n", host.full() ? "full" : "reduced");
  return 0;
}

/// Makes the precompiled header and its company where an image is built.
int headers_main(const Toolchain& toolchain, const std::filesystem::path& out) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  const auto share = installed_share(program);
  return run_root(
      [&](asio::any_io_executor strand, StopSource& stop) {
        return make_installed_headers(std::move(strand), toolchain, share / "template", out, stop);
      },
      std::chrono::seconds(20));
}

int runner_main(const std::string& text, int socket) {
  auto settings = runner_settings_from(text);
  if (!settings) {
    std::fprintf(stderr, "--settings: %s\n", settings.error().c_str());
    return kBadCommandLine;
  }
  settings->socket = socket;
  return run_runner(*settings);
}

/// In a pod: the settings come from sandboxd's container when a session begins.
int pod_runner_main(const std::filesystem::path& shared_directory) {
  const auto met = meet_sandboxd(shared_directory);
  if (met && !*met) return 0;
  if (met) return runner_main((*met)->settings, (*met)->socket);
  std::fprintf(stderr, "swage-sandboxd runner: %s\n", met.error().c_str());
  return kMissing;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Runs the tools of one agent in a container, compiles, and asks for evaluations."};
  app.require_subcommand(0, 1);
  std::string config;
  std::string settings;
  std::string meeting;
  const char* about_config = "JSON file; fields: docs/PROCESSES.md";
  app.add_option("--config", config, about_config);  // as the other processes have it
  auto* serve_command = app.add_subcommand("serve", "Serve one rollout over gRPC (the default).");
  serve_command->add_option("--config", config, about_config);
  auto* runner_command = app.add_subcommand("runner", "Run the tools; started by serve.");
  runner_command->add_option("--settings", settings, "JSON, made by serve");
  runner_command->add_option("--meet", meeting, "in a pod: the directory shared with serve");
  Toolchain toolchain;
  std::string headers;
  auto* headers_command = app.add_subcommand(
      "headers", "Precompile torch's headers for the sandboxes of an image, once.");
  headers_command->add_option("--out", headers, "directory")->required();
  headers_command->add_option("--cxx", toolchain.cxx, "compiler")->capture_default_str();
  headers_command->add_option("--torch", toolchain.torch_directory, "torch's folder")->required();
  headers_command->add_option("--python", toolchain.python, "interpreter")->required();
  auto* probe_command = app.add_subcommand("probe", "Say whether containers work here.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : kBadCommandLine;
  }
  if (runner_command->parsed())
    return meeting.empty() ? runner_main(settings, kRunnerSocket) : pod_runner_main(meeting);
  if (probe_command->parsed()) return probe_main();
  if (headers_command->parsed()) return headers_main(toolchain, headers);
  if (!config.empty()) return serve_main(config);
  std::fprintf(stderr, "--config is missing; see --help\n");
  return kBadCommandLine;
}
