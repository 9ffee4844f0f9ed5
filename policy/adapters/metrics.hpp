#pragma once

#include "common/metrics/metrics.hpp"
#include "policy/adapters/weights_service.hpp"
#include "policy/api/generation.hpp"

namespace swage::policy {

/// The policy server's metrics. Thread-safe.
class PolicyMetrics final : public EngineObserver, public BroadcastObserver {
 public:
  explicit PolicyMetrics(Metrics& metrics);
  void step(std::size_t batch, std::size_t generated, double kv_used_ratio) override;
  void queued(Duration wait) override;
  void first_token(Duration wait) override;
  void weights(std::uint64_t version) override;
  void received(std::size_t bytes) override;
  void loaded(Duration since_offer) override;

 private:
  prometheus::Counter& generated_;
  prometheus::Histogram& batch_;
  prometheus::Gauge& kv_used_;
  prometheus::Histogram& queue_;
  prometheus::Histogram& first_token_;
  prometheus::Gauge& version_;
  prometheus::Histogram& broadcast_seconds_;
  prometheus::Counter& broadcast_bytes_;
};

}  // namespace swage::policy
