#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "gpu_pool/judge/core/hidden.hpp"
#include "gpu_pool/judge/core/recipe.hpp"
#include "gpu_pool/judge/core/tensor.hpp"

namespace swage::judge {

/// One argument of forward.
struct Argument {
  std::optional<TensorSpec> tensor;  ///< absent: `value` stands for it
  std::optional<Recipe> recipe;      ///< absent: the task host makes its content
  nlohmann::json value;              ///< in the encoding of swage_model_host/task.py
};

/// One tensor of the model's state.
struct StateTensor {
  std::string name;
  TensorSpec spec;  ///< contiguous
  bool operator==(const StateTensor&) const = default;
};

/// What the judge knows about a task; kept from one evaluation to the next.
struct TaskFacts {
  nlohmann::json init_args;
  std::vector<Argument> args;
  std::vector<StateTensor> state;
  /// The gate's absolute tolerance, where 1e-2 would let a candidate pass that computes nothing.
  std::optional<double> absolute;
  std::vector<Hidden> hidden;  ///< distributions for which eager is finite and exact enough
};

/// From a task host's answer, or from facts_json(). Errors name what is wrong.
Result<TaskFacts, std::string> parse_facts(const nlohmann::json& message);
nlohmann::json facts_json(const TaskFacts& facts);

/// Bytes that an evaluation needs for a task's inputs and weights: inputs and a draft of them, and
/// the initial weights with two sets that are made of them.
std::uint64_t needed_bytes(const TaskFacts& facts);

/// The `state` list of a host's answer to `load`. Nothing when it is malformed.
std::optional<std::vector<StateTensor>> parse_state(const nlohmann::json& list);

/// A tensor's record in a control packet: dtype, shape, stride and offset.
nlohmann::json place_json(const TensorSpec& spec, std::uint64_t offset);

}  // namespace swage::judge
