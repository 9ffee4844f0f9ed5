#include "policy/core/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "common/base/philox.hpp"

namespace swage::policy {
namespace {

/// exp(z/tau - max) of every id, and their sum.
struct Weights {
  std::vector<double> each;
  double total = 0;
};

std::optional<Weights> weights_of(std::span<const float> logits, double tau) {
  const double top = *std::ranges::max_element(logits);
  Weights out;
  out.each.resize(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    out.each[i] = std::exp((static_cast<double>(logits[i]) - top) / tau);
    out.total += out.each[i];
  }
  // A NaN anywhere reaches the sum; an infinite maximum makes NaNs.
  if (!std::isfinite(out.total)) return std::nullopt;
  return out;
}

/// The ids that pass the filters, ascending.
std::vector<std::uint32_t> kept_ids(const Weights& weights, const Sampling& sampling) {
  std::vector<std::uint32_t> ids(weights.each.size());
  std::iota(ids.begin(), ids.end(), 0U);
  std::ranges::sort(ids, [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(-weights.each[a], a) < std::pair(-weights.each[b], b);
  });
  if (sampling.top_k > 0 && sampling.top_k < ids.size()) ids.resize(sampling.top_k);
  if (sampling.top_p > 0 && sampling.top_p < 1) {
    double total = 0;
    for (const auto id : ids) total += weights.each[id];
    double sum = 0;
    std::size_t keep = 0;
    while (keep < ids.size() && sum < static_cast<double>(sampling.top_p) * total)
      sum += weights.each[ids[keep++]];
    ids.resize(std::max<std::size_t>(keep, 1));
  }
  if (sampling.min_p > 0) {
    const double floor = static_cast<double>(sampling.min_p) * weights.each[ids.front()];
    std::erase_if(ids, [&](std::uint32_t id) { return weights.each[id] < floor; });
  }
  std::ranges::sort(ids);
  return ids;
}

bool filters(const Sampling& sampling) {
  return sampling.top_k > 0 || (sampling.top_p > 0 && sampling.top_p < 1) || sampling.min_p > 0;
}

float log_share(double part, double total) { return static_cast<float>(std::log(part / total)); }

Draw draw_all(const Weights& weights, double u) {
  const double target = u * weights.total;
  double sum = 0;
  std::uint32_t id = 0;
  std::uint32_t last = 0;  // rounding may leave the target beyond the sum: the last possible id
  for (; id < weights.each.size(); ++id) {
    if (weights.each[id] > 0) last = id;
    sum += weights.each[id];
    if (sum > target) break;
  }
  if (id == weights.each.size()) id = last;
  return {id, log_share(weights.each[id], weights.total), 0};
}

Draw draw_kept(const Weights& weights, const std::vector<std::uint32_t>& ids, double u) {
  double total = 0;
  for (const auto id : ids) total += weights.each[id];
  double sum = 0;
  std::uint32_t chosen = ids.back();
  for (const auto id : ids) {
    sum += weights.each[id];
    if (sum > u * total) {
      chosen = id;
      break;
    }
  }
  const float behaviour = log_share(weights.each[chosen], weights.total);
  return {chosen, behaviour, std::min(0.0F, log_share(total, weights.total))};
}

}  // namespace

std::optional<Draw> sample(std::span<const float> logits, const Sampling& sampling,
                           std::uint64_t position) {
  const bool greedy = sampling.temperature == 0;
  const auto weights = weights_of(logits, greedy ? 1.0 : static_cast<double>(sampling.temperature));
  if (!weights) return std::nullopt;
  if (greedy) {
    const auto id = static_cast<std::uint32_t>(std::ranges::max_element(logits) - logits.begin());
    return Draw{id, log_share(weights->each[id], weights->total), 0};
  }
  const double u = philox_uniform(sampling.seed, 0, position);
  if (!filters(sampling)) return draw_all(*weights, u);
  return draw_kept(*weights, kept_ids(*weights, sampling), u);
}

std::optional<std::string> bad_sampling(const Sampling& s) {
  if (!(s.temperature >= 0) || !std::isfinite(s.temperature)) return "temperature is not >= 0";
  if (s.temperature > 0 && s.temperature < 1e-3F) return "temperature is in (0, 0.001)";
  if (!(s.top_p >= 0 && s.top_p <= 1)) return "top_p is not in [0, 1]";
  if (!(s.min_p >= 0 && s.min_p < 1)) return "min_p is not in [0, 1)";
  return std::nullopt;
}

}  // namespace swage::policy
