#pragma once

#include <functional>

#include "common/rpc/server.hpp"
#include "policy/core/weight_assembly.hpp"
#include "swage/v1/weights.grpc.pb.h"

namespace swage::policy {

/// What the broadcast costs; handles of metrics.
class BroadcastObserver {
 public:
  virtual ~BroadcastObserver() = default;
  virtual void received(std::size_t bytes) = 0;
  virtual void loaded(Duration since_offer) = 0;
};

/// Puts complete weights into the engine; returns when its next step will use them.
using LoadWeights = std::function<Task<>(HeldWeights)>;

/// Takes manifest and chunks, as Put and Fetch carry them, into an assembly. Used on one strand.
class WeightIntake {
 public:
  WeightIntake(WeightAssembly& assembly, LoadWeights load, BroadcastObserver& observer)
      : assembly_(assembly), load_(std::move(load)), observer_(observer) {}

  /// The first message must be a manifest.
  WeightAssembly::Offer begin(const v1::PutRequest& first);
  /// A chunk. True: the version is complete.
  bool take(const v1::PutRequest& next);
  /// Verifies the whole and loads it. False: SHA-256 does not agree.
  Task<bool> finish();

  std::uint64_t version() const { return version_; }
  const std::vector<std::uint32_t>& bad_chunks() const { return bad_; }

 private:
  WeightAssembly& assembly_;
  LoadWeights load_;
  BroadcastObserver& observer_;
  TimePoint begun_;
  std::uint64_t version_ = 0;
  std::vector<std::uint32_t> bad_;
};

/// Serves swage.v1.Weights on a policy server: weights come in by Offer and Put, and go out to
/// other servers by Fetch. assembly is touched on the home's strand only. Relay chains are refused.
class WeightsService final : public v1::Weights::CallbackService {
 public:
  WeightsService(ServiceHome home, WeightAssembly& assembly, LoadWeights load,
                 BroadcastObserver& observer)
      : home_(std::move(home)), assembly_(assembly), load_(std::move(load)), observer_(observer) {}

  grpc::ServerUnaryReactor* Offer(grpc::CallbackServerContext* context,
                                  const v1::OfferRequest* request,
                                  v1::OfferResponse* reply) override;
  grpc::ServerBidiReactor<v1::PutRequest, v1::PutResponse>* Put(
      grpc::CallbackServerContext* context) override;
  grpc::ServerWriteReactor<v1::PutRequest>* Fetch(grpc::CallbackServerContext* context,
                                                  const v1::FetchRequest* request) override;

 private:
  Task<ReplyOr<v1::OfferResponse>> offer(v1::OfferRequest request);
  Task<grpc::Status> put(BidiStream<v1::PutRequest, v1::PutResponse> stream);
  Task<grpc::Status> fetch(v1::FetchRequest request, WriteStream<v1::PutRequest> stream);

  ServiceHome home_;
  WeightAssembly& assembly_;
  LoadWeights load_;
  BroadcastObserver& observer_;
};

}  // namespace swage::policy
