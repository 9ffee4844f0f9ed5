#include "policy/core/weight_assembly.hpp"

#include <algorithm>
#include <utility>

#include "common/base/check.hpp"
#include "common/base/digest.hpp"

namespace swage::policy {

std::string WeightAssembly::contradiction(const WeightManifest& manifest) const {
  constexpr std::uint32_t kMostChunkBytes = 8 << 20;
  if (!run_uid_.empty() && manifest.run_uid != run_uid_)
    return "run " + manifest.run_uid + ", this server belongs to " + run_uid_;
  if (manifest.config_digest != config_digest_)
    return "config digest " + manifest.config_digest + ", this server's model has " +
           config_digest_;
  if (manifest.dtype != "f32") return "dtype " + manifest.dtype + ", f32 is wanted";
  if (manifest.layout != layout_) return "the tensors lie differently in the buffer";
  if (manifest.version == 0) return "version 0";
  if (manifest.chunk_bytes == 0 || manifest.chunk_bytes > kMostChunkBytes)
    return "chunks of " + std::to_string(manifest.chunk_bytes) + " bytes";
  const auto chunks =
      (manifest.layout.total_bytes + manifest.chunk_bytes - 1) / manifest.chunk_bytes;
  if (manifest.chunk_crc32c.size() != chunks)
    return std::to_string(manifest.chunk_crc32c.size()) + " checksums for " +
           std::to_string(chunks) + " chunks";
  return {};
}

WeightAssembly::Offer WeightAssembly::offer(const WeightManifest& manifest) {
  if (auto detail = contradiction(manifest); !detail.empty())
    return {Answer::incompatible, std::move(detail)};
  const auto newest = std::max(held_version(), offered_ ? offered_->version : 0);
  if (manifest.version <= held_version() || manifest.version < newest)
    return {Answer::stale, "version " + std::to_string(manifest.version) + ", version " +
                               std::to_string(newest) + " is here or on its way"};
  if (offered_ != manifest) {
    offered_ = manifest;
    buffer_.assign(manifest.layout.total_bytes, '\0');
    have_.assign(manifest.chunk_crc32c.size(), false);
  }
  return {Answer::send, {}};
}

WeightAssembly::Chunk WeightAssembly::chunk(std::uint64_t version, std::uint32_t index,
                                            std::string_view data) {
  if (!offered_ || offered_->version != version || index >= have_.size()) return Chunk::unasked;
  const auto begin = static_cast<std::uint64_t>(index) * offered_->chunk_bytes;
  const auto size = std::min<std::uint64_t>(offered_->chunk_bytes, buffer_.size() - begin);
  if (data.size() != size) return Chunk::unasked;
  if (crc32c(data) != offered_->chunk_crc32c[index]) return Chunk::bad;
  if (!have_[index]) std::ranges::copy(data, buffer_.begin() + static_cast<std::ptrdiff_t>(begin));
  have_[index] = true;
  return Chunk::taken;
}

std::vector<std::uint32_t> WeightAssembly::missing() const {
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < have_.size(); ++i)
    if (!have_[i]) out.push_back(static_cast<std::uint32_t>(i));
  return out;
}

std::optional<HeldWeights> WeightAssembly::finish() {
  check(missing().empty(), "finish: chunks are missing");
  auto manifest = std::exchange(offered_, std::nullopt);
  auto bytes = std::exchange(buffer_, {});
  have_.clear();
  if (!manifest || sha256_hex(bytes) != manifest->sha256) return std::nullopt;
  held_ = HeldWeights{std::move(*manifest), std::make_shared<const std::string>(std::move(bytes))};
  return held_;
}

}  // namespace swage::policy
