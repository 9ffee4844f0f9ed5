#include "gpu_pool/worker/app/config.hpp"

#include <utility>

namespace swage::worker {
namespace {

void take_redis(Fields& fields, WorkerConfig& config) {
  fields.require("redis", "where the lease queue is: {\"address\": …, \"password_file\": …}");
  auto redis = fields.object("redis");
  config.queue.redis_address = redis.text("address", "");
  const std::string password_file = redis.text("password_file", "");
  if (!password_file.empty()) {
    auto password = read_file(password_file);
    if (password) {
      config.queue.password = std::move(*password);
      while (config.queue.password.ends_with('\n')) config.queue.password.pop_back();
    } else {
      redis.complain("password_file", password.error().message);
    }
  }
  redis.finish();
}

std::vector<int> cores(Fields& fields, const std::string& name) {
  std::vector<int> list;
  const auto* raw = fields.raw(name);
  if (raw == nullptr) return list;
  bool good = raw->is_array();
  for (const auto& core : *raw) {
    good = good && core.is_number_unsigned();
    if (good) list.push_back(core.get<int>());
  }
  if (!good) fields.complain(name, "must be a list of processor numbers");
  return list;
}

void take_own(Fields& fields, WorkerConfig& config) {
  take_redis(fields, config);
  fields.require("pool", "`<namespace>.<name>` of the profiling pool");
  config.queue.pool = fields.text("pool", "");
  fields.require("gpu", "the device's UUID");
  config.gpu = lease::GpuId(fields.text("gpu", ""));
  if (!lease::valid_id(config.gpu.str())) fields.complain("gpu", "must match [A-Za-z0-9._-]{1,96}");
  if (!lease::valid_id(config.queue.pool))
    fields.complain("pool", "must match [A-Za-z0-9._-]{1,96}");
  config.address = fields.text("address", "");
  config.drain =
      std::chrono::seconds(fields.integer("drain_seconds", kDefaultDrain.count(), 0, 330));
  config.device_kind = fields.one_of("device_kind", {"cpu", "cuda"}, "cpu");
  for (const auto& [name, path] : {std::pair("verdict_key_file", &config.verdict_key_file),
                                   std::pair("python", &config.python),
                                   std::pair("model_host_directory", &config.model_host_directory),
                                   std::pair("judge_binary", &config.judge_binary),
                                   std::pair("cache_directory", &config.cache_directory)}) {
    fields.require(name, "an absolute path");
    *path = fields.text(name, "");
  }
  config.host_cores = cores(fields, "host_cores");
  config.judge_cores = cores(fields, "judge_cores");
}

}  // namespace

Result<WorkerConfig, ConfigError> read_worker_config(const std::filesystem::path& file) {
  WorkerConfig config;
  auto process = read_process_config(file, [&config](Fields& fields) { take_own(fields, config); });
  if (!process) return tl::unexpected(process.error());
  config.process = std::move(*process);
  if (config.process.listen.empty())
    return tl::unexpected(ConfigError{{file.string() + ": listen is missing: the gRPC address"}});
  if (config.address.empty()) config.address = config.process.listen;
  return config;
}

}  // namespace swage::worker
