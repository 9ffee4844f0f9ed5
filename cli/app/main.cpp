#include <CLI/CLI.hpp>

#include "cli/app/command_line.hpp"
#include "common/base/exit_code.hpp"

namespace {

constexpr const char* kFooter =
    "Exit codes: 0 done; 1 failed; 64 bad command line or file; 69 something needed is missing;\n"
    "70 a bug; 74 disk full or not writable.\n"
    "Environment: SWAGE_SERVER is the default of --server; SWAGE_TOKEN the token for a server "
    "(what\n"
    "secrets/token in its run's directory holds; a local run's is found by itself).";

int refuse(const CLI::App& app, const std::string& word) {
  app.exit(CLI::ExtrasError("swage", {word}));
  return swage::exit_code::kBadInput;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"swage trains a language-model agent to write fast GPU kernels."};
  app.footer(kFooter);
  app.require_subcommand(1);
  swage::cli::Parsed parsed;
  swage::cli::add_commands(app, parsed);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    // CLI11 answers --help before it looks at words that nothing takes.
    const auto unknown = app.remaining(true);
    return unknown.empty() ? app.exit(e) : refuse(app, unknown.front());
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : swage::exit_code::kBadInput;
  }
  return parsed.code;
}
