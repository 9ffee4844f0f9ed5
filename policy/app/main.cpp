// swage-policy: the inference server. See docs/PROCESSES.md.
#include <CLI/CLI.hpp>
#include <iostream>

#include "common/asio/root.hpp"
#include "common/base/exit_code.hpp"
#include "common/base/stop_graces.hpp"
#include "common/log/log.hpp"
#include "policy/app/config.hpp"
#include "policy/app/server.hpp"
#include "policy/tokenizer/tokenizer.hpp"

namespace {

using swage::policy::PolicyConfig;

swage::Task<int> root(swage::asio::any_io_executor strand, swage::StopSource& stop,
                      PolicyConfig config, swage::policy::ModelConfig model, std::string digest) {
  swage::policy::PolicyServer server(strand, stop, std::move(config), std::move(model),
                                     std::move(digest));
  co_return co_await server.run();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The swage policy server: token-in, token-out inference over gRPC.");
  std::string file;
  app.add_option("--config", file, "JSON file, see docs/PROCESSES.md")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : swage::exit_code::kBadInput;
  }
  const auto config = swage::policy::read_config(file);
  if (!config) {
    std::cerr << config.error().text() << "\n";
    return swage::exit_code::kBadInput;
  }
  swage::configure_log({config->process.log_level, config->process.log_json, config->process.name});
  const auto tokenizer = swage::policy::Tokenizer::load(config->tokenizer);
  if (!tokenizer) {
    std::cerr << tokenizer.error().message << "\n";
    return swage::exit_code::kMissing;
  }
  const auto model = swage::policy::model_config(config->model_source, tokenizer->vocabulary());
  if (!model) {
    std::cerr << model.error().message << "\n";
    return swage::exit_code::kMissing;
  }
  return swage::run_root(
      [&](swage::asio::any_io_executor strand, swage::StopSource& stop) {
        return root(strand, stop, *config, *model, tokenizer->digest());
      },
      swage::kPolicyStop.watchdog());
}
