#include "gpu_pool/judge/app/known_task.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gpu_pool/judge/adapters/spare_memory.hpp"
#include "gpu_pool/judge/app/endings.hpp"
#include "gpu_pool/judge/core/statistics.hpp"

namespace swage::judge {
namespace {

constexpr std::chrono::milliseconds kTaskLimit{60000};
constexpr std::uint64_t kRecipePurpose = 4;
constexpr std::size_t kWanted = 1U << 20;  // values to compare
constexpr int kMaxDraws = 32;              // calls of get_inputs() to get them
constexpr double kDistance = 0.005;

Ending invalid(std::string why) { return {Code::task_invalid, std::move(why)}; }

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20U) + " MiB"; }

/// Values of one element type as floats, at most `limit`.
void append_floats(ElementType type, std::span<const std::byte> bytes, std::size_t limit,
                   std::vector<float>& out) {
  const std::size_t size = size_of(type);
  for (std::size_t at = 0; at + size <= bytes.size() && out.size() < limit; at += size)
    out.push_back(static_cast<float>(load_element(type, bytes.data() + at)));
}

double share_of_zeros(const std::vector<float>& values) {
  return static_cast<double>(std::ranges::count(values, 0.0F)) / static_cast<double>(values.size());
}

/// Whether two samples look drawn from one distribution. The distance of two equal ones shrinks
/// with the sample, so small ones get the 0.1 % quantile of their own.
bool look_alike(const std::vector<float>& own, const std::vector<float>& judge) {
  const auto n = static_cast<double>(own.size());
  const double allowed = std::max(kDistance, 1.95 * std::sqrt(2.0 / n));
  if (std::fabs(share_of_zeros(own) - share_of_zeros(judge)) > allowed) return false;
  return ks_distance(own, judge) <= allowed;
}

/// Draws of one argument by the task's own code, in staging memory.
class Sampler {
 public:
  Sampler(Host& host, const TaskFacts& facts, SharedMemory staging, Layout layout)
      : host_(host), facts_(facts), staging_(std::move(staging)), layout_(std::move(layout)) {
    for (std::size_t i = 0; i < facts.args.size(); ++i)
      if (facts.args[i].tensor) tensors_.push_back(i);
  }

  /// Runs get_inputs() once and appends the values of every tensor argument to `samples`.
  Result<void, Ending> draw(std::uint64_t seed, std::vector<std::vector<float>>& samples) {
    nlohmann::json places = nlohmann::json::array();
    for (std::size_t p = 0; p < tensors_.size(); ++p) {
      auto place = place_json(*facts_.args[tensors_[p]].tensor, layout_.offsets[p]);
      place["index"] = tensors_[p];
      places.push_back(std::move(place));
    }
    const auto done = host_.ask({{"op", "inputs"},
                                 {"bytes", layout_.bytes},
                                 {"tensors", std::move(places)},
                                 {"seed", seed}},
                                {staging_.descriptor().get()}, {}, kTaskLimit);
    if (!done) return tl::unexpected(task_ending(done.error()));
    for (std::size_t p = 0; p < tensors_.size(); ++p) {
      const TensorSpec& spec = *facts_.args[tensors_[p]].tensor;
      const std::uint64_t bytes = span_elements(spec).value_or(0) * size_of(spec.type);
      append_floats(spec.type, staging_.bytes().subspan(layout_.offsets[p], bytes), kWanted,
                    samples[p]);
    }
    return {};
  }
  const std::vector<std::size_t>& tensors() const { return tensors_; }

 private:
  Host& host_;
  const TaskFacts& facts_;
  SharedMemory staging_;
  Layout layout_;
  std::vector<std::size_t> tensors_;  // arguments that are tensors
};

bool recipe_holds(const Argument& argument, const std::vector<float>& own, std::uint64_t key) {
  if (own.empty()) return true;
  const TensorSpec& spec = *argument.tensor;
  std::vector<std::byte> made(own.size() * size_of(spec.type));
  if (argument.recipe->law == Law::perm)
    return static_cast<double>(span_elements(spec).value_or(0)) == argument.recipe->b;
  fill(*argument.recipe, spec.type, key, made, 0, own.size());
  std::vector<float> judge;
  append_floats(spec.type, made, own.size(), judge);
  return look_alike(own, judge);
}

Result<void, Ending> check_recipes(Host& host, TaskFacts& facts, const Root& root) {
  std::vector<TensorSpec> specs;
  for (const auto& argument : facts.args)
    if (argument.tensor) specs.push_back(*argument.tensor);
  Layout layout = page_layout(specs);
  auto staging = SharedMemory::make("staging", layout.bytes);
  if (!staging) return tl::unexpected(Ending{Code::infra_error, staging.error()});
  Sampler sampler(host, facts, std::move(*staging), std::move(layout));
  std::vector<std::vector<float>> samples(specs.size());
  const auto enough = [&] {
    return std::ranges::all_of(samples, [](const auto& s) { return s.size() >= kWanted; });
  };
  for (int i = 0; i < kMaxDraws && !enough(); ++i) {
    const std::uint64_t seed =
        derive_key(root, kRecipePurpose, static_cast<std::uint64_t>(i)) >> 1U;
    if (const auto drawn = sampler.draw(seed, samples); !drawn)
      return tl::unexpected(drawn.error());
  }
  for (std::size_t p = 0; p < samples.size(); ++p) {
    Argument& argument = facts.args[sampler.tensors()[p]];
    const std::uint64_t key = derive_key(root, kRecipePurpose, 1000 + p);
    if (argument.recipe && !recipe_holds(argument, samples[p], key)) argument.recipe.reset();
  }
  return {};
}

Result<std::string, Ending> fetch_state(Host& host, const std::vector<StateTensor>& state) {
  std::vector<TensorSpec> specs;
  for (const auto& tensor : state) specs.push_back(tensor.spec);
  const Layout layout = page_layout(specs);
  auto staging = SharedMemory::make("state", layout.bytes);
  if (!staging) return tl::unexpected(Ending{Code::infra_error, staging.error()});
  nlohmann::json places = nlohmann::json::array();
  for (std::size_t i = 0; i < state.size(); ++i) {
    auto place = place_json(specs[i], layout.offsets[i]);
    place["name"] = state[i].name;
    places.push_back(std::move(place));
  }
  const auto done =
      host.ask({{"op", "state"}, {"bytes", layout.bytes}, {"tensors", std::move(places)}},
               {staging->descriptor().get()}, {}, kTaskLimit);
  if (!done) return tl::unexpected(task_ending(done.error()));
  return std::string(reinterpret_cast<const char*>(staging->bytes().data()), layout.bytes);
}

}  // namespace

Result<KnownTask, Ending> learn_task(Host& task_host, const Root& root) {
  const std::uint64_t seed = derive_key(root, kRecipePurpose, 0) >> 1U;
  const auto described = task_host.ask({{"op", "task"}, {"seed", seed}}, {},
                                       {"init_args", "args", "state"}, kTaskLimit);
  if (!described) return tl::unexpected(task_ending(described.error()));
  auto facts = parse_facts(*described);
  if (!facts) return tl::unexpected(invalid(facts.error()));
  KnownTask out;
  out.facts = std::move(*facts);
  const bool any =
      std::ranges::any_of(out.facts.args, [](const auto& a) { return a.tensor.has_value(); });
  if (!any) return tl::unexpected(invalid("get_inputs() returns no tensor"));
  if (const auto needed = needed_bytes(out.facts); needed > spare_memory())
    return tl::unexpected(invalid("the task's inputs and weights need " + mebibytes(needed) +
                                  ", and this machine has " + mebibytes(spare_memory()) +
                                  " to spare"));
  auto state = fetch_state(task_host, out.facts.state);
  if (!state) return tl::unexpected(state.error());
  out.initial_state = std::move(*state);
  if (const auto checked = check_recipes(task_host, out.facts, root); !checked)
    return tl::unexpected(checked.error());
  return out;
}

}  // namespace swage::judge
