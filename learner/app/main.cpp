#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "common/asio/root.hpp"
#include "common/base/exit_code.hpp"
#include "common/base/stop_graces.hpp"
#include "common/log/log.hpp"
#include "learner/app/learner.hpp"
#include "learner/app/read_log.hpp"
#include "learner/torch/decoder_trainer.hpp"

namespace {

swage::Result<std::unique_ptr<swage::learner::Trainer>, swage::learner::TrainerError> make_trainer(
    const swage::learner::LearnerConfig& config, std::uint32_t vocabulary) {
  auto options = swage::learner::trainer_options(config.settings);
  options.model_source = config.model_source;
  options.vocabulary = vocabulary;
  options.seed = config.seed;
  options.threads = config.threads;
  return swage::learner::make_decoder_trainer(options);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"swage-learner: durable trajectory log, fine-tuning, PPO and weight publication"};
  std::filesystem::path file;
  std::filesystem::path out;
  std::filesystem::path tokenizer;
  std::string rollout;
  auto* serve = app.add_option("--config", file, "JSON configuration file (docs/PROCESSES.md)");
  auto* read = app.add_option("--read-log", out, "print the trajectories of a run that has ended");
  app.add_option("--rollout", rollout, "with --read-log: one trajectory in full")->needs(read);
  app.add_option("--tokenizer", tokenizer, "with --read-log: its tokenizer.json")->needs(read);
  serve->excludes(read);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : swage::exit_code::kBadInput;
  }
  if (!out.empty()) return swage::learner::print_log(out, rollout, tokenizer);
  if (file.empty()) {
    std::cerr << "swage-learner: name --config FILE or --read-log DIR\n";
    return swage::exit_code::kBadInput;
  }
  auto config = swage::learner::read_learner_config(file);
  if (!config) {
    std::cerr << config.error().text() << '\n';
    return swage::exit_code::kBadInput;
  }
  swage::configure_log({config->process.log_level, config->process.log_json, config->process.name});
  const auto root = [config = std::move(*config)](swage::asio::any_io_executor strand,
                                                  swage::StopSource& stop) {
    return swage::learner::run_learner(config, make_trainer, std::move(strand), stop);
  };
  return swage::run_root(root, swage::kLearnerStop.watchdog());
}
