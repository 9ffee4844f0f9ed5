#include <array>
#include <utility>

#include "controller/api/learner_view.hpp"

namespace swage::controller {
namespace {

constexpr std::array<std::pair<Stage, const char*>, 9> kNames{{{Stage::none, "none"},
                                                               {Stage::single_turn, "single"},
                                                               {Stage::collect, "collect"},
                                                               {Stage::rft, "rft"},
                                                               {Stage::critic, "critic"},
                                                               {Stage::agentic, "agentic"},
                                                               {Stage::eval1, "eval1"},
                                                               {Stage::eval2, "eval2"},
                                                               {Stage::done, "done"}}};

}  // namespace

const char* stage_name(Stage stage) {
  for (const auto& [value, name] : kNames)
    if (value == stage) return name;
  return "none";
}

Stage stage_named(const std::string& name) {
  for (const auto& [value, text] : kNames)
    if (name == text) return value;
  return Stage::none;
}

}  // namespace swage::controller
