#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "learner/api/trainer.hpp"
#include "swage/v1/weights.pb.h"

namespace swage::learner {

/// One weight version, ready to be sent. Immutable; shared by all who send it.
struct Publication {
  v1::WeightManifest manifest;
  std::shared_ptr<const WeightSnapshot> snapshot;

  std::uint64_t version() const { return manifest.version(); }
  /// Chunk `index`, below manifest.chunk_crc32c_size().
  v1::PutRequest chunk(std::uint32_t index) const;
  v1::PutRequest head() const;  ///< the manifest as a stream's first message
};

struct PublicationIdentity {
  std::string run_uid;
  std::uint64_t version = 0;
  std::uint64_t step = 0;
  std::string config_digest;
};

/// Checksums the whole buffer: call it where that may take a while.
std::shared_ptr<const Publication> make_publication(std::shared_ptr<const WeightSnapshot> snapshot,
                                                    const PublicationIdentity& identity);

}  // namespace swage::learner
