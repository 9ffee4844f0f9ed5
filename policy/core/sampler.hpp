#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "policy/api/generation.hpp"

namespace swage::policy {

/// One sampled id.
struct Draw {
  std::uint32_t id = 0;
  float behaviour_logprob = 0;  ///< log softmax(z / tau), whole vocabulary, before filters
  float filter_logmass = 0;     ///< behaviour - sampling log-probability, <= 0; 0 without filters
};

/// z → z/tau → top-k → top-p → min-p → renormalise → inverse CDF in id order, with
/// u = Philox(seed, position): the result depends on nothing else. Temperature 0: argmax (the
/// lowest id among equals), behaviour_logprob is then that of tau 1. logits: [V], V > 0. position:
/// absolute, of the token to be sampled. Nothing: the logits are not finite.
std::optional<Draw> sample(std::span<const float> logits, const Sampling& sampling,
                           std::uint64_t position);

/// Why the numbers cannot be used; nothing if they can.
std::optional<std::string> bad_sampling(const Sampling& sampling);

}  // namespace swage::policy
