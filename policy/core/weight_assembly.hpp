#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/api/weights.hpp"

namespace swage::policy {

/// A weight version that is complete and verified.
struct HeldWeights {
  WeightManifest manifest;
  std::shared_ptr<const std::string> bytes;
};

/// Collects the chunks of one weight version after another. Pure. A newer offer discards an older
/// part; the same offer again continues it.
class WeightAssembly {
 public:
  /// run_uid: of the run whose weights are taken; empty: of any.
  WeightAssembly(std::string run_uid, std::string config_digest, WeightLayout layout)
      : run_uid_(std::move(run_uid)),
        config_digest_(std::move(config_digest)),
        layout_(std::move(layout)) {}

  enum class Answer {
    send,          ///< the missing chunks are wanted
    stale,         ///< this version or a newer one is held
    incompatible,  ///< another model or run, or a manifest that contradicts itself
  };
  struct Offer {
    Answer answer = Answer::incompatible;
    std::string detail;  ///< for people; empty for send
  };
  Offer offer(const WeightManifest& manifest);

  enum class Chunk {
    taken,    ///< verified and kept, or held before
    bad,      ///< its checksum does not agree
    unasked,  ///< no such chunk in the offered version, or of the wrong size
  };
  /// version: of the manifest the chunk belongs to; another one was offered since: unasked.
  Chunk chunk(std::uint64_t version, std::uint32_t index, std::string_view data);

  /// Chunks of the offered version that are not here, ascending.
  std::vector<std::uint32_t> missing() const;
  bool complete(std::uint64_t version) const {
    return offered_ && offered_->version == version && missing().empty();
  }
  /// Checks the whole of a complete version and keeps it as held. Nothing: SHA-256 does not agree,
  /// and the version is discarded.
  std::optional<HeldWeights> finish();

  /// The newest complete version.
  const std::optional<HeldWeights>& held() const { return held_; }
  std::uint64_t held_version() const { return held_ ? held_->manifest.version : 0; }

 private:
  std::string contradiction(const WeightManifest& manifest) const;

  std::string run_uid_;
  std::string config_digest_;
  WeightLayout layout_;
  std::optional<HeldWeights> held_;
  std::optional<WeightManifest> offered_;
  std::string buffer_;
  std::vector<bool> have_;
};

}  // namespace swage::policy
