#include "rollout_worker/app/config.hpp"

#include <utility>

#include "common/base/files.hpp"

namespace swage::rollout_worker {
namespace {

void read_queue(Fields& fields, lease::QueueConfig& queue) {
  fields.require("redis", "how to reach the lease queue");
  auto redis = fields.object("redis");
  redis.require("address", "`unix:/path` or `host:port`");
  queue.redis_address = redis.text("address", "");
  const auto password_file = redis.text("password_file", "");
  if (!password_file.empty()) {
    auto password = read_file(password_file);
    if (password) {
      while (password->ends_with('\n')) password->pop_back();
      queue.password = std::move(*password);
    } else {
      redis.complain("password_file", password.error().message);
    }
  }
  redis.finish();
  fields.require("pool", "`<namespace>.<pool>` of the GPUs");
  queue.pool = fields.text("pool", "");
}

}  // namespace

Result<WorkerConfig, ConfigError> read_worker_config(const std::filesystem::path& file) {
  WorkerConfig config;
  auto process = read_process_config(file, [&config](Fields& fields) {
    fields.require("controller", "gRPC address of the controller");
    config.controller = fields.text("controller", "");
    fields.require("learner", "gRPC address of the learner");
    config.learner = fields.text("learner", "");
    read_queue(fields, config.queue);
    config.capacity = static_cast<std::uint32_t>(fields.integer("capacity", 64, 1, 4096));
    fields.require("tokenizer", "path of the model's tokenizer.json");
    config.tokenizer = fields.text("tokenizer", "");
    config.renderer = fields.one_of("renderer", {"tiny"}, "tiny");
    config.teacher_directory = fields.text("teacher_directory", "");
    config.drain =
        std::chrono::seconds(fields.integer("drain_seconds", kDefaultDrain.count(), 0, 3600));
  });
  if (!process) return tl::unexpected(process.error());
  config.process = std::move(*process);
  return config;
}

}  // namespace swage::rollout_worker
