#include "policy/app/config.hpp"

namespace swage::policy {

Result<PolicyConfig, ConfigError> read_config(const std::filesystem::path& file) {
  PolicyConfig config;
  const auto own = [&config](Fields& fields) {
    fields.require("listen", "the gRPC address to serve on");
    fields.require("model", "{source, tokenizer}");
    auto model = fields.object("model");
    model.require("source", "`scratch:tiny` or a folder with config.json");
    model.require("tokenizer", "the path of a tokenizer.json");
    config.model_source = model.text("source", "");
    config.tokenizer = model.text("tokenizer", "");
    model.finish();
    config.learner = fields.text("learner", "");
    const auto kv = fields.one_of("kv", {"keep", "recompute"}, "recompute");
    config.kv = kv == "keep" ? KvPolicy::keep : KvPolicy::recompute;
    config.threads = static_cast<int>(fields.integer("threads", config.threads, 1, 1024));
    config.context = fields.integer("context", config.context, 0, 10'000'000);
    config.cache_tokens =
        fields.integer("cache_tokens", config.cache_tokens, 1, std::int64_t{1} << 40);
    config.seed = static_cast<std::uint64_t>(
        fields.integer("seed", 0, 0, std::numeric_limits<std::int64_t>::max()));
  };
  auto process = read_process_config(file, own);
  if (!process) return tl::unexpected(process.error());
  config.process = std::move(*process);
  return config;
}

}  // namespace swage::policy
