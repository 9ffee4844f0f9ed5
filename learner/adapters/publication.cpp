#include "learner/adapters/publication.hpp"

#include <algorithm>
#include <string_view>

#include "common/base/digest.hpp"

namespace swage::learner {
namespace {

constexpr std::uint32_t kChunkBytes = 4U << 20U;

}  // namespace

v1::PutRequest Publication::chunk(std::uint32_t index) const {
  const std::size_t at = static_cast<std::size_t>(index) * manifest.chunk_bytes();
  v1::PutRequest out;
  out.mutable_chunk()->set_index(index);
  out.mutable_chunk()->set_data(snapshot->buffer.substr(at, manifest.chunk_bytes()));
  return out;
}

v1::PutRequest Publication::head() const {
  v1::PutRequest out;
  *out.mutable_manifest() = manifest;
  return out;
}

std::shared_ptr<const Publication> make_publication(std::shared_ptr<const WeightSnapshot> snapshot,
                                                    const PublicationIdentity& identity) {
  auto out = std::make_shared<Publication>();
  auto& m = out->manifest;
  m.set_run_uid(identity.run_uid);
  m.set_version(identity.version);
  m.set_step(identity.step);
  m.set_config_digest(identity.config_digest);
  m.set_dtype("f32");
  for (const auto& tensor : snapshot->layout.tensors) {
    auto* entry = m.add_tensors();
    entry->set_name(tensor.name);
    for (const auto size : tensor.shape) entry->add_shape(size);
    entry->set_offset(tensor.offset);
    entry->set_bytes(tensor.bytes);
  }
  const std::string_view bytes = snapshot->buffer;
  m.set_total_bytes(bytes.size());
  m.set_chunk_bytes(kChunkBytes);
  for (std::size_t at = 0; at < bytes.size(); at += kChunkBytes)
    m.add_chunk_crc32c(crc32c(bytes.substr(at, kChunkBytes)));
  m.set_sha256(sha256_hex(bytes));
  out->snapshot = std::move(snapshot);
  return out;
}

}  // namespace swage::learner
