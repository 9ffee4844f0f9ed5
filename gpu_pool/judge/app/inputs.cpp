#include "gpu_pool/judge/app/inputs.hpp"

#include <algorithm>
#include <cstring>

#include "gpu_pool/judge/app/endings.hpp"
#include "gpu_pool/judge/core/recipe.hpp"
#include "gpu_pool/judge/core/weights.hpp"

namespace swage::judge {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kInputPurpose = 1;
constexpr std::uint64_t kWeightPurpose = 2;
constexpr std::uint64_t kOpaquePurpose = 3;
constexpr std::uint64_t kKnownSeed = 42;  // what everybody knows: the guard `seed` switched off
constexpr std::chrono::milliseconds kTaskLimit{30000};

std::uint64_t span_bytes(const TensorSpec& spec) {
  return span_elements(spec).value_or(0) * size_of(spec.type);
}

Ending no_memory(const std::string& why) { return {Code::infra_error, "no shared memory: " + why}; }

}  // namespace

Layout page_layout(const std::vector<TensorSpec>& specs) {
  Layout out;
  for (const auto& spec : specs) {
    out.offsets.push_back(out.bytes);
    out.bytes += (span_bytes(spec) + kPage - 1) / kPage * kPage;
  }
  if (out.bytes == 0) out.bytes = kPage;
  return out;
}

Result<Inputs, Ending> Inputs::make(const TaskFacts& facts, const Root& root, Host* task_host,
                                    const Guards& guards, Device& device) {
  Inputs out;
  out.guards_ = guards;
  out.facts_ = &facts;
  out.root_ = root;
  out.task_host_ = task_host;
  out.device_ = &device;
  std::vector<TensorSpec> specs;
  for (std::size_t i = 0; i < facts.args.size(); ++i) {
    if (!facts.args[i].tensor) continue;
    if (!facts.args[i].recipe || !guards.seed) out.opaque_.push_back(out.tensors_.size());
    out.tensors_.push_back(i);
    specs.push_back(*facts.args[i].tensor);
  }
  out.layout_ = page_layout(specs);
  auto memory = device.make("inputs", out.layout_.bytes);
  if (!memory) return tl::unexpected(no_memory(memory.error()));
  device.set(memory->bytes(), std::byte{0xFF});  // NaN behind each payload
  if (guards.readonly)
    if (const auto sealed = device.seal(*memory); !sealed)
      return tl::unexpected(no_memory(sealed.error()));
  out.memory_ = std::move(*memory);
  if (!out.opaque_.empty()) {
    auto staging = SharedMemory::make("staging", out.layout_.bytes);
    if (!staging) return tl::unexpected(no_memory(staging.error()));
    out.staging_ = std::move(*staging);
  }
  return out;
}

bool Inputs::can_be_hidden() const {
  return std::ranges::any_of(tensors_, [this](std::size_t index) {
    const Argument& argument = facts_->args[index];
    return argument.recipe && is_floating(argument.tensor->type) &&
           span_elements(*argument.tensor).value_or(0) > 0;
  });
}

Result<void, Ending> Inputs::write_hidden(Hidden which, std::uint64_t set, Room& room) {
  if (const auto usual = write(set, room); !usual) return usual;
  if (!guards_.fresh || !guards_.seed) return {};
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Argument& argument = facts_->args[tensors_[i]];
    const TensorSpec& spec = *argument.tensor;
    if (!argument.recipe || !is_floating(spec.type)) continue;
    const auto place = memory_.bytes().subspan(layout_.offsets[i], span_bytes(spec));
    const std::uint64_t key = derive_key(root_, kInputPurpose, set << 16U | i);
    const auto row = static_cast<std::uint64_t>(
        spec.shape.empty() ? 1 : std::max<std::int64_t>(spec.shape.back(), 1));
    const std::uint64_t count = span_elements(spec).value_or(0);
    const std::uint64_t calm = (kCalmElements + kFillBlock - 1) / kFillBlock * kFillBlock;
    device_->write(place, [&](std::span<std::byte> buffer) {
      // Some distributions leave the first elements as they usually are, and the buffer has none.
      fill(*argument.recipe, spec.type, key, buffer, 0, std::min(count, calm));
      room.share_range(count, kFillBlock, [&](std::uint64_t begin, std::uint64_t end) {
        fill_hidden(which, spec.type, row, key, buffer, begin, end);
      });
    });
  }
  return {};
}

Result<void, Ending> Inputs::write(std::uint64_t set, Room& room) {
  if (!guards_.fresh) set = 0;
  for (std::size_t i = 0; i < tensors_.size() && guards_.seed; ++i) {
    const Argument& argument = facts_->args[tensors_[i]];
    if (!argument.recipe) continue;
    const TensorSpec& spec = *argument.tensor;
    const auto place = memory_.bytes().subspan(layout_.offsets[i], span_bytes(spec));
    const std::uint64_t key = derive_key(root_, kInputPurpose, set << 16U | i);
    const std::uint64_t count = span_elements(spec).value_or(0);
    if (device_->fill(place, *argument.recipe, spec.type, key)) continue;
    const bool divisible = argument.recipe->law != Law::perm;
    device_->write(place, [&](std::span<std::byte> buffer) {
      room.share_range(count, divisible ? kFillBlock : std::max<std::uint64_t>(count, 1),
                       [&](std::uint64_t begin, std::uint64_t end) {
                         fill(*argument.recipe, spec.type, key, buffer, begin, end);
                       });
    });
  }
  return opaque_.empty() ? Result<void, Ending>() : write_opaque(set);
}

Result<void, Ending> Inputs::write_opaque(std::uint64_t set) {
  nlohmann::json places = nlohmann::json::array();
  for (const std::size_t position : opaque_) {
    const std::size_t index = tensors_[position];
    auto place = place_json(*facts_->args[index].tensor, layout_.offsets[position]);
    place["index"] = index;
    places.push_back(std::move(place));
  }
  const std::uint64_t seed =
      guards_.seed ? derive_key(root_, kOpaquePurpose, set) >> 1U : kKnownSeed;
  const auto done = task_host_->ask(
      {{"op", "inputs"}, {"bytes", layout_.bytes}, {"tensors", std::move(places)}, {"seed", seed}},
      {staging_.descriptor().get()}, {}, kTaskLimit);
  if (!done) return tl::unexpected(task_ending(done.error()));
  for (const std::size_t position : opaque_) {
    const std::uint64_t bytes = span_bytes(*facts_->args[tensors_[position]].tensor);
    const auto made = staging_.bytes().subspan(layout_.offsets[position], bytes);
    device_->write(memory_.bytes().subspan(layout_.offsets[position], bytes),
                   [&](std::span<std::byte> to) { std::ranges::copy(made, to.begin()); });
  }
  return {};
}

std::vector<TensorView> Inputs::views(std::span<const std::byte> content) const {
  std::vector<TensorView> out;
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    out.push_back({&*facts_->args[tensors_[i]].tensor, content.data() + layout_.offsets[i]});
  return out;
}

nlohmann::json Inputs::map_message() const {
  nlohmann::json args = nlohmann::json::array();
  std::size_t position = 0;
  for (const auto& argument : facts_->args) {
    if (argument.tensor) {
      args.push_back({{"tensor", place_json(*argument.tensor, layout_.offsets[position++])}});
    } else {
      args.push_back({{"value", argument.value}});
    }
  }
  return {{"op", "map"}, {"bytes", layout_.bytes}, {"args", std::move(args)}, {"writable", false}};
}

Result<DeviceMemory, std::string> Inputs::copy() const {
  auto memory = device_->make("replay", layout_.bytes);
  if (!memory) return memory;
  const HostView content = device_->read(memory_.bytes());
  device_->write(memory->bytes(),
                 [&](std::span<std::byte> to) { std::ranges::copy(content.bytes, to.begin()); });
  return memory;
}

Result<Weights, Ending> Weights::make(const std::vector<StateTensor>& state,
                                      const std::string& initial, const Root& root,
                                      std::uint64_t set, Device& device) {
  Weights out;
  out.state_ = &state;
  std::vector<TensorSpec> specs;
  for (const auto& tensor : state) specs.push_back(tensor.spec);
  out.layout_ = page_layout(specs);
  if (initial.size() != out.layout_.bytes)
    return tl::unexpected(Ending{Code::infra_error, "the task's initial state is incomplete"});
  auto memory = device.make("weights", out.layout_.bytes);
  if (!memory) return tl::unexpected(no_memory(memory.error()));
  device.write(memory->bytes(), [&](std::span<std::byte> all) {
    std::memcpy(all.data(), initial.data(), initial.size());
    for (std::size_t i = 0; i < state.size(); ++i) {
      const auto values = all.subspan(out.layout_.offsets[i], span_bytes(state[i].spec));
      const std::uint64_t key = derive_key(root, kWeightPurpose, set << 32U | i);
      perturb_weights(state[i].name, state[i].spec.type, key, values);
    }
  });
  if (const auto sealed = device.seal(*memory); !sealed)
    return tl::unexpected(no_memory(sealed.error()));
  out.memory_ = std::move(*memory);
  return out;
}

nlohmann::json Weights::message() const {
  nlohmann::json tensors = nlohmann::json::array();
  for (std::size_t i = 0; i < state_->size(); ++i) {
    auto place = place_json((*state_)[i].spec, layout_.offsets[i]);
    place["name"] = (*state_)[i].name;
    tensors.push_back(std::move(place));
  }
  return {{"op", "weights"}, {"bytes", layout_.bytes}, {"tensors", std::move(tensors)}};
}

}  // namespace swage::judge
