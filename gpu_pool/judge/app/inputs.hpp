#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gpu_pool/judge/adapters/device.hpp"
#include "gpu_pool/judge/adapters/host.hpp"
#include "gpu_pool/judge/adapters/room.hpp"
#include "gpu_pool/judge/adapters/shared_memory.hpp"
#include "gpu_pool/judge/adapters/task_facts.hpp"
#include "gpu_pool/judge/core/guards.hpp"
#include "gpu_pool/judge/core/outcome.hpp"

namespace swage::judge {

using Root = std::array<std::byte, 32>;

/// Where tensors lie one behind the other, each on pages of its own.
struct Layout {
  std::vector<std::uint64_t> offsets;
  std::uint64_t bytes = 0;  ///< of all, > 0
};
Layout page_layout(const std::vector<TensorSpec>& specs);

/// The inputs of one evaluation: memory of the judge's that hosts see read-only, and the ways to
/// write fresh content into it. All hosts are stopped while it is written.
class Inputs {
 public:
  /// `task_host` makes the content of opaque arguments; null when there are none. `device` outlives
  /// the inputs.
  static Result<Inputs, Ending> make(const TaskFacts& facts, const Root& root, Host* task_host,
                                     const Guards& guards, Device& device);

  /// Content number `set` of this evaluation.
  Result<void, Ending> write(std::uint64_t set, Room& room);
  /// The same, with every floating argument that has a recipe drawn from `which` instead.
  Result<void, Ending> write_hidden(Hidden which, std::uint64_t set, Room& room);
  /// Whether write_hidden() would change anything.
  bool can_be_hidden() const;

  /// The current content in memory of its own, which a host may change (to find out whether it
  /// does).
  Result<DeviceMemory, std::string> copy() const;
  nlohmann::json map_message() const;
  /// The tensor arguments in `content`, which is all of memory() where it can be read; borrowed.
  std::vector<TensorView> views(std::span<const std::byte> content) const;
  std::uint64_t bytes() const { return layout_.bytes; }
  const DeviceMemory& memory() const { return memory_; }
  /// `recipe` or `opaque`, for the record.
  std::string distribution() const { return opaque_.empty() ? "recipe" : "opaque"; }

 private:
  Result<void, Ending> write_opaque(std::uint64_t set);

  const TaskFacts* facts_ = nullptr;
  Root root_{};
  Host* task_host_ = nullptr;
  std::vector<std::size_t> tensors_;  // indices of tensor arguments
  std::vector<std::size_t> opaque_;   // of which without recipe, as positions in tensors_
  Guards guards_;
  Device* device_ = nullptr;
  Layout layout_;
  DeviceMemory memory_;
  SharedMemory staging_;
};

/// One set of weights of an evaluation.
class Weights {
 public:
  /// initial: the flat state in the layout of `page_layout`. `set` tells one set from another.
  static Result<Weights, Ending> make(const std::vector<StateTensor>& state,
                                      const std::string& initial, const Root& root,
                                      std::uint64_t set, Device& device);
  nlohmann::json message() const;
  const DeviceMemory& memory() const { return memory_; }
  bool empty() const { return state_->empty(); }

 private:
  const std::vector<StateTensor>* state_ = nullptr;
  Layout layout_;
  DeviceMemory memory_;
};

}  // namespace swage::judge
