#include "learner/api/trajectory.hpp"

#include <array>
#include <utility>

namespace swage::learner {
namespace {

constexpr std::array<std::pair<Stage, std::string_view>, 7> kStages{
    {{Stage::single_turn, "single_turn"},
     {Stage::collect, "collect"},
     {Stage::rft, "rft"},
     {Stage::critic, "critic"},
     {Stage::agentic, "agentic"},
     {Stage::evaluation, "evaluation"},
     {Stage::done, "done"}}};

}  // namespace

std::string_view to_string(Stage stage) {
  for (const auto& [value, name] : kStages)
    if (value == stage) return name;
  return {};
}

std::optional<Stage> stage_from(std::string_view name) {
  for (const auto& [value, candidate] : kStages)
    if (candidate == name) return value;
  return std::nullopt;
}

std::vector<std::uint32_t> policy_positions(const Trajectory& trajectory) {
  std::vector<std::uint32_t> positions;
  for (std::size_t t = 0; t < trajectory.mask.size(); ++t)
    if (trajectory.mask[t] != 0) positions.push_back(static_cast<std::uint32_t>(t));
  return positions;
}

}  // namespace swage::learner
