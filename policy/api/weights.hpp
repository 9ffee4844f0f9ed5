#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace swage::policy {

/// One tensor inside a flat weight buffer.
struct TensorSlot {
  std::string name;                 ///< Hugging Face name
  std::vector<std::int64_t> shape;  ///< each >= 1
  std::uint64_t offset = 0;         ///< bytes into the buffer, a multiple of 256
  std::uint64_t bytes = 0;          ///< size
  bool operator==(const TensorSlot&) const = default;
};

/// Where each tensor lies in the flat buffer that travels from the learner to the policy servers:
/// float32, in the order of Decoder::tensors().
struct WeightLayout {
  std::vector<TensorSlot> tensors;
  std::uint64_t total_bytes = 0;
  bool operator==(const WeightLayout&) const = default;
};

/// What a weight version consists of, and how to verify it.
struct WeightManifest {
  std::string run_uid;
  std::uint64_t version = 0;  ///< only rises
  std::uint64_t step = 0;     ///< optimiser step it came from
  std::string config_digest;
  std::string dtype;  ///< `f32`
  WeightLayout layout;
  std::uint32_t chunk_bytes = 0;            ///< of each chunk but the last
  std::vector<std::uint32_t> chunk_crc32c;  ///< one per chunk
  std::string sha256;                       ///< of the whole buffer, 64 hex digits
  bool operator==(const WeightManifest&) const = default;
};

}  // namespace swage::policy
