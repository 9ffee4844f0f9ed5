#include "policy/adapters/metrics.hpp"

namespace swage::policy {
namespace {

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

PolicyMetrics::PolicyMetrics(Metrics& metrics)
    : generated_(metrics.counter("swage_policy_generated_tokens_total", "Tokens sampled.")),
      batch_(metrics.histogram("swage_policy_batch_size", "Requests in one step.",
                               {1, 2, 4, 8, 16, 32, 64, 128, 256})),
      kv_used_(metrics.gauge("swage_policy_kv_used_ratio",
                             "Share of the key-value pages that hold something.")),
      queue_(metrics.histogram("swage_policy_queue_seconds",
                               "From a request's arrival to its first step.", seconds_buckets())),
      first_token_(metrics.histogram("swage_policy_time_to_first_token_seconds",
                                     "From a request's arrival to its first token.",
                                     seconds_buckets())),
      version_(metrics.gauge("swage_policy_weight_version", "Weight version in use, 0 if none.")),
      broadcast_seconds_(metrics.histogram("swage_weight_broadcast_seconds",
                                           "From a version's manifest to its use.",
                                           seconds_buckets())),
      broadcast_bytes_(metrics.counter("swage_weight_broadcast_bytes_total",
                                       "Bytes of weight chunks received.")) {}

void PolicyMetrics::step(std::size_t batch, std::size_t generated, double kv_used_ratio) {
  batch_.Observe(static_cast<double>(batch));
  generated_.Increment(static_cast<double>(generated));
  kv_used_.Set(kv_used_ratio);
}
void PolicyMetrics::queued(Duration wait) { queue_.Observe(seconds(wait)); }
void PolicyMetrics::first_token(Duration wait) { first_token_.Observe(seconds(wait)); }
void PolicyMetrics::weights(std::uint64_t version) { version_.Set(static_cast<double>(version)); }
void PolicyMetrics::received(std::size_t bytes) {
  broadcast_bytes_.Increment(static_cast<double>(bytes));
}
void PolicyMetrics::loaded(Duration since_offer) {
  broadcast_seconds_.Observe(seconds(since_offer));
}

}  // namespace swage::policy
