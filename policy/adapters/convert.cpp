#include "policy/adapters/convert.hpp"

namespace swage::policy {
namespace {

v1::GenerateStop to_proto(GenerateStop stop) {
  switch (stop) {
    case GenerateStop::stop_id:
      return v1::GENERATE_STOP_STOP_ID;
    case GenerateStop::max_tokens:
      return v1::GENERATE_STOP_MAX_TOKENS;
    case GenerateStop::context_limit:
      return v1::GENERATE_STOP_CONTEXT_LIMIT;
    case GenerateStop::session_miss:
      return v1::GENERATE_STOP_SESSION_MISS;
    case GenerateStop::cancelled:
      return v1::GENERATE_STOP_CANCELLED;
  }
  return v1::GENERATE_STOP_UNSPECIFIED;
}

}  // namespace

GenerateRequest from_proto(const v1::GenerateRequest& in) {
  GenerateRequest out;
  out.session = in.session();
  out.held = in.held();
  out.held_hash = in.held_hash();
  out.append_ids.assign(in.append_ids().begin(), in.append_ids().end());
  const auto& sampling = in.sampling();
  out.sampling = {sampling.temperature(), sampling.top_k(), sampling.top_p(), sampling.min_p(),
                  sampling.seed()};
  out.max_tokens = in.max_tokens();
  out.stop_ids.assign(in.stop_ids().begin(), in.stop_ids().end());
  out.min_weight_version = in.min_weight_version();
  return out;
}

v1::GenerateResponse to_proto(const SampledTokens& tokens) {
  v1::GenerateResponse out;
  auto& chunk = *out.mutable_tokens();
  chunk.mutable_ids()->Add(tokens.ids.begin(), tokens.ids.end());
  chunk.mutable_behaviour_logprobs()->Add(tokens.behaviour_logprobs.begin(),
                                          tokens.behaviour_logprobs.end());
  chunk.set_weight_version(tokens.weight_version);
  return out;
}

v1::GenerateResponse to_proto(const GenerateEnd& end) {
  v1::GenerateResponse out;
  out.mutable_end()->set_stop(to_proto(end.stop));
  out.mutable_end()->set_prefilled_tokens(end.prefilled_tokens);
  out.mutable_end()->set_generated_tokens(end.generated_tokens);
  return out;
}

WeightManifest from_proto(const v1::WeightManifest& in) {
  WeightManifest out;
  out.run_uid = in.run_uid();
  out.version = in.version();
  out.step = in.step();
  out.config_digest = in.config_digest();
  out.dtype = in.dtype();
  for (const auto& tensor : in.tensors())
    out.layout.tensors.push_back({tensor.name(),
                                  {tensor.shape().begin(), tensor.shape().end()},
                                  tensor.offset(),
                                  tensor.bytes()});
  out.layout.total_bytes = in.total_bytes();
  out.chunk_bytes = in.chunk_bytes();
  out.chunk_crc32c.assign(in.chunk_crc32c().begin(), in.chunk_crc32c().end());
  out.sha256 = in.sha256();
  return out;
}

v1::WeightManifest to_proto(const WeightManifest& in) {
  v1::WeightManifest out;
  out.set_run_uid(in.run_uid);
  out.set_version(in.version);
  out.set_step(in.step);
  out.set_config_digest(in.config_digest);
  out.set_dtype(in.dtype);
  for (const auto& tensor : in.layout.tensors) {
    auto& entry = *out.add_tensors();
    entry.set_name(tensor.name);
    entry.mutable_shape()->Add(tensor.shape.begin(), tensor.shape.end());
    entry.set_offset(tensor.offset);
    entry.set_bytes(tensor.bytes);
  }
  out.set_total_bytes(in.layout.total_bytes);
  out.set_chunk_bytes(in.chunk_bytes);
  out.mutable_chunk_crc32c()->Add(in.chunk_crc32c.begin(), in.chunk_crc32c.end());
  out.set_sha256(in.sha256);
  return out;
}

}  // namespace swage::policy
