#include "policy/adapters/weights_service.hpp"

#include "policy/adapters/convert.hpp"

namespace swage::policy {
namespace {

v1::OfferAnswer to_proto(WeightAssembly::Answer answer) {
  switch (answer) {
    case WeightAssembly::Answer::send:
      return v1::OFFER_ANSWER_SEND;
    case WeightAssembly::Answer::stale:
      return v1::OFFER_ANSWER_STALE_VERSION;
    case WeightAssembly::Answer::incompatible:
      return v1::OFFER_ANSWER_INCOMPATIBLE;
  }
  return v1::OFFER_ANSWER_UNSPECIFIED;
}

}  // namespace

WeightAssembly::Offer WeightIntake::begin(const v1::PutRequest& first) {
  begun_ = std::chrono::steady_clock::now();
  if (!first.has_manifest())
    return {WeightAssembly::Answer::incompatible, "the first message is not a manifest"};
  version_ = first.manifest().version();
  return assembly_.offer(from_proto(first.manifest()));
}

bool WeightIntake::take(const v1::PutRequest& next) {
  const auto& chunk = next.chunk();
  observer_.received(chunk.data().size());
  const auto answer = assembly_.chunk(version_, chunk.index(), chunk.data());
  if (answer == WeightAssembly::Chunk::bad) bad_.push_back(chunk.index());
  return assembly_.complete(version_);
}

Task<bool> WeightIntake::finish() {
  auto held = assembly_.finish();
  if (!held) co_return false;
  co_await load_(std::move(*held));
  observer_.loaded(std::chrono::steady_clock::now() - begun_);
  co_return true;
}

Task<ReplyOr<v1::OfferResponse>> WeightsService::offer(v1::OfferRequest request) {
  if (request.chain_size() > 0)
    co_return tl::unexpected(RpcError{grpc::StatusCode::UNIMPLEMENTED,
                                      "this server does not relay: leave chain empty and offer to "
                                      "each server"});
  const auto answer = assembly_.offer(from_proto(request.manifest()));
  v1::OfferResponse out;
  out.set_answer(to_proto(answer.answer));
  out.set_detail(answer.detail);
  out.set_held_version(assembly_.held_version());
  if (answer.answer == WeightAssembly::Answer::send)
    for (const auto index : assembly_.missing()) out.add_missing(index);
  co_return out;
}

Task<grpc::Status> WeightsService::put(BidiStream<v1::PutRequest, v1::PutResponse> stream) {
  const auto first = co_await stream.read();
  if (!first) co_return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no manifest came");
  WeightIntake intake(assembly_, load_, observer_);
  const auto offer = intake.begin(*first);
  v1::PutResponse out;
  out.set_answer(to_proto(offer.answer));
  out.set_detail(offer.detail);
  bool loaded = false;
  if (offer.answer == WeightAssembly::Answer::send) {
    bool complete = assembly_.complete(intake.version());
    while (!complete) {
      const auto next = co_await stream.read();
      if (!next) break;
      complete = intake.take(*next);
    }
    if (complete) loaded = co_await intake.finish();
    if (!loaded) {
      out.set_answer(v1::OFFER_ANSWER_UNSPECIFIED);
      out.set_detail(complete ? "the whole does not agree with its SHA-256: send all of it again"
                              : "chunks are missing or bad");
      for (const auto index : intake.bad_chunks()) out.add_bad_chunks(index);
    }
  }
  out.set_loaded_version(assembly_.held_version());
  co_await stream.write(std::move(out));
  co_return grpc::Status::OK;
}

Task<grpc::Status> WeightsService::fetch(v1::FetchRequest request,
                                         WriteStream<v1::PutRequest> stream) {
  const auto held = assembly_.held();  // a copy: newer weights may come meanwhile
  if (!held || held->manifest.version <= request.newer_than())
    co_return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such version is here");
  if (held->manifest.config_digest != request.config_digest())
    co_return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "another model");
  v1::PutRequest message;
  *message.mutable_manifest() = to_proto(held->manifest);
  bool open = co_await stream.write(std::move(message));
  const std::size_t size = held->manifest.chunk_bytes;
  for (std::size_t i = 0; open && i * size < held->bytes->size(); ++i) {
    v1::PutRequest chunk;
    chunk.mutable_chunk()->set_index(static_cast<std::uint32_t>(i));
    chunk.mutable_chunk()->set_data(held->bytes->substr(i * size, size));
    open = co_await stream.write(std::move(chunk));
  }
  co_return grpc::Status::OK;
}

grpc::ServerUnaryReactor* WeightsService::Offer(grpc::CallbackServerContext* context,
                                                const v1::OfferRequest* request,
                                                v1::OfferResponse* reply) {
  return serve_unary<v1::OfferResponse>(home_, context, reply,
                                        [this, request] { return offer(*request); });
}

grpc::ServerBidiReactor<v1::PutRequest, v1::PutResponse>* WeightsService::Put(
    grpc::CallbackServerContext* context) {
  return serve_bidi<v1::PutRequest, v1::PutResponse>(
      home_, context, [this](BidiStream<v1::PutRequest, v1::PutResponse> stream, StopSource&) {
        return put(std::move(stream));
      });
}

grpc::ServerWriteReactor<v1::PutRequest>* WeightsService::Fetch(
    grpc::CallbackServerContext* context, const v1::FetchRequest* request) {
  return serve_write<v1::PutRequest>(
      home_, context, [this, request](WriteStream<v1::PutRequest> stream, StopSource&) {
        return fetch(*request, std::move(stream));
      });
}

}  // namespace swage::policy
