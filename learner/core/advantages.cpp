#include "learner/core/advantages.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "common/base/check.hpp"

namespace swage::learner {
namespace {

/// V after the last token: a trajectory ends there, also one that was cut.
constexpr double kNoBoot = 0.0;

struct Moments {
  std::size_t count = 0;
  double mean = 0;
  double variance = 0;  // unbiased
};

/// Two passes: the second around the mean, so that large offsets lose nothing.
template <class Visit>
Moments moments(Visit visit) {
  Moments m;
  double sum = 0;
  visit([&](double x) {
    sum += x;
    ++m.count;
  });
  if (m.count == 0) return m;
  m.mean = sum / static_cast<double>(m.count);
  double squares = 0;
  visit([&](double x) { squares += (x - m.mean) * (x - m.mean); });
  if (m.count > 1) m.variance = squares / static_cast<double>(m.count - 1);
  return m;
}

Estimate by_token(const Episode& e, double gamma, double lambda_policy, double lambda_value) {
  Estimate out;
  out.advantages = generalised_advantages(e.rewards, e.values, kNoBoot, gamma, lambda_policy);
  out.returns = lambda_value == lambda_policy
                    ? out.advantages
                    : generalised_advantages(e.rewards, e.values, kNoBoot, gamma, lambda_value);
  for (std::size_t k = 0; k < out.returns.size(); ++k) out.returns[k] += e.values[k];
  out.value_mask.assign(out.advantages.size(), 1);
  return out;
}

Estimate by_turn(const Episode& e, double gamma, double lambda) {
  check(e.turn_of_token.size() == e.rewards.size(), "a turn number for each policy token");
  const std::size_t n = e.rewards.size();
  std::vector<std::size_t> first;
  std::vector<double> rewards, values;
  for (std::size_t k = 0; k < n; ++k) {
    if (k == 0 || e.turn_of_token[k] != e.turn_of_token[k - 1]) {
      first.push_back(k);
      rewards.push_back(0);
      values.push_back(e.values[k]);
    }
    rewards.back() += e.rewards[k];
  }
  const auto shared = generalised_advantages(rewards, values, kNoBoot, gamma, lambda);
  Estimate out;
  out.value_mask.assign(n, 0);
  for (std::size_t turn = 0; turn < first.size(); ++turn) {
    const std::size_t end = turn + 1 < first.size() ? first[turn + 1] : n;
    out.value_mask[first[turn]] = 1;
    out.advantages.resize(end, shared[turn]);
    out.returns.resize(end, shared[turn] + values[turn]);
  }
  return out;
}

std::vector<Estimate> by_group(std::span<const Episode> episodes) {
  const auto total = [](const Episode& e) {
    return std::accumulate(e.rewards.begin(), e.rewards.end(), 0.0);
  };
  std::map<std::uint64_t, std::vector<double>> groups;
  for (const auto& e : episodes)
    if (!e.rewards.empty()) groups[e.group].push_back(total(e));
  std::vector<Estimate> out(episodes.size());
  for (std::size_t i = 0; i < episodes.size(); ++i) {
    const auto& e = episodes[i];
    if (e.rewards.empty()) continue;
    const auto& scores = groups[e.group];
    const auto m = moments([&](auto take) {
      for (const double score : scores) take(score);
    });
    const double a = m.count < 2 ? 0.0 : (total(e) - m.mean) / (std::sqrt(m.variance) + 1e-6);
    out[i].advantages.assign(e.rewards.size(), a);
    out[i].value_mask.assign(e.rewards.size(), 0);
  }
  return out;
}

}  // namespace

std::vector<double> generalised_advantages(std::span<const double> rewards,
                                           std::span<const double> values, double boot,
                                           double gamma, double lambda) {
  check(rewards.size() == values.size(), "one reward and one value for each policy token");
  std::vector<double> out(rewards.size());
  double next_value = boot;
  double next_advantage = 0;
  for (std::size_t k = rewards.size(); k-- > 0;) {
    const double delta = rewards[k] + gamma * next_value - values[k];
    next_advantage = delta + gamma * lambda * next_advantage;
    out[k] = next_advantage;
    next_value = values[k];
  }
  return out;
}

std::vector<Estimate> estimate_advantages(std::span<const Episode> episodes,
                                          const Learning& learning) {
  if (learning.advantage == AdvantageKind::group) return by_group(episodes);
  std::vector<Estimate> out;
  out.reserve(episodes.size());
  for (const auto& e : episodes) {
    const double n = static_cast<double>(e.rewards.size());
    switch (learning.advantage) {
      case AdvantageKind::decoupled:
        out.push_back(by_token(e, learning.gamma, learning.lambda_policy, learning.lambda_value));
        break;
      case AdvantageKind::adaptive: {
        const double lambda =
            std::clamp(1.0 - 1.0 / std::max(learning.adaptive_alpha * n, 1.0), 0.0, 1.0);
        out.push_back(by_token(e, learning.gamma, lambda, 1.0));
        break;
      }
      case AdvantageKind::turn:
        out.push_back(by_turn(e, learning.gamma, learning.lambda_policy));
        break;
      case AdvantageKind::fixed:
      case AdvantageKind::group:
        out.push_back(by_token(e, learning.gamma, learning.lambda_policy, learning.lambda_policy));
        break;
    }
  }
  return out;
}

Whitening whiten(std::span<Estimate> estimates) {
  const auto m = moments([&](auto take) {
    for (const auto& e : estimates)
      for (const double a : e.advantages) take(a);
  });
  if (m.count < 2) return {};
  const double scale = 1.0 / std::sqrt(m.variance + 1e-8);
  for (auto& e : estimates)
    for (double& a : e.advantages) a = (a - m.mean) * scale;
  return {true, m.mean, m.variance};
}

std::optional<double> explained_variance(std::span<const double> returns,
                                         std::span<const double> values, bool most_rewards_equal) {
  check(returns.size() == values.size(), "one value for each return");
  if (most_rewards_equal || returns.size() < 2) return std::nullopt;
  const auto of_returns = moments([&](auto take) {
    for (const double r : returns) take(r);
  });
  if (of_returns.variance < 1e-8) return std::nullopt;
  const auto of_errors = moments([&](auto take) {
    for (std::size_t k = 0; k < returns.size(); ++k) take(returns[k] - values[k]);
  });
  return 1.0 - of_errors.variance / (of_returns.variance + 1e-5);
}

bool most_equal(std::span<const double> rewards) {
  std::map<double, std::size_t> counts;
  for (const double r : rewards) ++counts[r];
  return std::any_of(counts.begin(), counts.end(),
                     [&](const auto& entry) { return 2 * entry.second > rewards.size(); });
}

}  // namespace swage::learner
