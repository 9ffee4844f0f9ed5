#include "controller/adapters/schema.hpp"

namespace swage::controller {
namespace {

LeaseSpec read_lease(Fields fields) {
  LeaseSpec out;
  out.ttl_seconds = static_cast<int>(fields.integer("ttlSeconds", 15, 12, 120));
  out.margin_seconds = static_cast<int>(fields.integer("marginSeconds", 3, 1, 40));
  out.max_hold_seconds = static_cast<int>(fields.integer("maxHoldSeconds", 240, 12, 86400));
  if (3 * out.margin_seconds > out.ttl_seconds)
    fields.complain("marginSeconds", "must be at most a third of ttlSeconds (" +
                                         std::to_string(out.ttl_seconds) + ")");
  fields.finish();
  return out;
}

QueueSpec read_queue(Fields fields) {
  QueueSpec out;
  out.max_waiting = static_cast<int>(fields.integer("maxWaiting", 4096, 1, 1000000));
  out.max_wait_seconds = static_cast<int>(fields.integer("maxWaitSeconds", 1800, 1, 86400));
  fields.finish();
  return out;
}

ScalingSpec read_scaling(Fields fields) {
  constexpr double kAny = 1e9;
  ScalingSpec out;
  const auto mode = fields.one_of("mode", {"Fixed", "Builtin", "External"}, "Builtin");
  out.mode = mode == "Fixed"      ? ScalingMode::fixed
             : mode == "External" ? ScalingMode::external
                                  : ScalingMode::builtin;
  out.min_replicas = static_cast<int>(fields.integer("minReplicas", 0, 0, 1024));
  out.max_replicas = static_cast<int>(fields.integer("maxReplicas", 8, 1, 1024));
  out.outstanding_per_gpu = static_cast<int>(fields.integer("outstandingPerGpu", 2, 1, 1000));
  out.gpu_hour_cost = fields.number("gpuHourCost", 1, 0, kAny);
  out.rollout_hour_cost = fields.number("rolloutHourCost", 1, 0, kAny);
  out.gpu_hours_per_day = fields.number("gpuHoursPerDay", 0, 0, kAny);
  if (out.min_replicas > out.max_replicas)
    fields.complain("minReplicas",
                    "must be at most maxReplicas (" + std::to_string(out.max_replicas) + ")");
  fields.finish();
  return out;
}

void read_secrets(Fields& spec, const SchemaContext& context, ProfilingPool& out) {
  auto redis = spec.object("redis");
  context.only_in_a_cluster(redis, {"secretName"});
  out.redis_secret = redis.text("secretName", out.redis_secret);
  redis.finish();
  context.only_in_a_cluster(spec, {"verdictSecretName"});
  out.verdict_secret = spec.text("verdictSecretName", out.verdict_secret);
}

}  // namespace

ProfilingPool read_profiling_pool(const nlohmann::json& document, const SchemaContext& context) {
  Fields root(document, "", context.complain);
  std::ignore = root.text("apiVersion", "");
  std::ignore = root.text("kind", "");
  const auto metadata = read_metadata(root, context);
  ProfilingPool out;
  out.name = metadata.name;
  out.space = metadata.space;
  root.require("spec", "the pool; {} takes every default");
  auto spec = root.object("spec");
  if (spec.has("replicas")) out.replicas = static_cast<int>(spec.integer("replicas", 1, 0, 1024));
  out.device_kind = read_device_kind(spec);
  out.lease = read_lease(spec.object("lease"));
  out.queue = read_queue(spec.object("queue"));
  out.scaling = read_scaling(spec.object("scaling"));
  out.drain_seconds = static_cast<int>(spec.integer("drainSeconds", 300, 1, 86400));
  if (out.drain_seconds <= out.lease.max_hold_seconds)
    spec.complain("drainSeconds", "must be above lease.maxHoldSeconds (" +
                                      std::to_string(out.lease.max_hold_seconds) + ")");
  if (out.replicas && out.scaling.mode != ScalingMode::fixed)
    spec.complain("replicas", "belongs to scaling.mode Fixed; leave it out otherwise");
  read_secrets(spec, context, out);
  context.only_in_a_cluster(spec, {"gpuResource", "image"});
  out.gpu_resource = spec.text("gpuResource", out.gpu_resource);
  out.image = spec.text("image", "");
  read_placement(spec, context,
                 {"resources", "nodeSelector", "tolerations", "affinity", "runtimeClassName"},
                 out.placement);
  spec.finish();
  root.finish();
  return out;
}

}  // namespace swage::controller
