#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "controller/api/learner_view.hpp"

namespace swage::controller {

/// What a rollout_id `<run uid 8>-<stage>-<group>-<member>` says.
struct RolloutName {
  Stage stage = Stage::none;
  std::uint64_t group = 0;
  std::uint32_t member = 0;
  auto operator<=>(const RolloutName&) const = default;
};

std::string make_rollout_id(const std::string& run_uid, const RolloutName& name);

/// Nothing when `id` is not of this run or not of that form.
std::optional<RolloutName> parse_rollout_id(const std::string& run_uid, const std::string& id);

/// The seed of one rollout: depends on nothing but these four, so that an attempt repeats it.
std::uint64_t rollout_seed(std::int64_t run_seed, const RolloutName& name);

}  // namespace swage::controller
