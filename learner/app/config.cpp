#include "learner/app/config.hpp"

#include <limits>

#include "learner/adapters/settings_json.hpp"

namespace swage::learner {

Result<LearnerConfig, ConfigError> read_learner_config(const std::filesystem::path& file) {
  LearnerConfig config;
  const auto own = [&config](Fields& fields) {
    fields.require("run_uid", "the TrainingRun's uid");
    fields.require("listen", "the gRPC address to serve trajectories on");
    fields.require("out", "the run's directory");
    fields.require("controller", "the controller's gRPC address");
    fields.require("verdict_key_file", "the file with the pool's verdict key");
    config.out = fields.text("out", "");
    auto model = fields.object("model");
    model.require("source", "`scratch:tiny` or a model folder");
    model.require("tokenizer", "the path of a tokenizer.json");
    config.model_source = model.text("source", "");
    config.tokenizer = model.text("tokenizer", "");
    config.renderer = model.text("renderer", "tiny");
    model.finish();
    config.controller = fields.text("controller", "");
    config.verdict_key_file = fields.text("verdict_key_file", "");
    config.pool = fields.text("pool", "");
    config.allow_reduced_trust = fields.boolean("allow_reduced_trust", false);
    config.seed = static_cast<std::uint64_t>(
        fields.integer("seed", 1, 0, std::numeric_limits<std::int64_t>::max()));
    config.threads = static_cast<int>(fields.integer("threads", 1, 1, 1024));
    config.settings = settings_from(fields);
  };
  auto process = read_process_config(file, own);
  if (!process) return tl::unexpected(process.error());
  config.process = std::move(*process);
  auto key = read_file(config.verdict_key_file);
  if (!key)
    return tl::unexpected(
        ConfigError{{file.string() + ": verdict_key_file: " + key.error().message}});
  config.verdict_key = std::move(*key);
  while (config.verdict_key.ends_with('\n')) config.verdict_key.pop_back();
  return config;
}

}  // namespace swage::learner
