#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "learner/api/settings.hpp"
#include "learner/api/trajectory.hpp"

namespace swage::learner {

/// What a trajectory is held against.
struct AdmissionRules {
  std::string run_uid;
  std::string config_digest;  ///< of the run's model
  std::string tokenizer_digest;
  std::string renderer;  ///< empty: not checked
  std::uint32_t vocabulary = 0;
  std::uint64_t context = 0;  ///< most tokens of any stage
  std::string pool;           ///< `<namespace>.<pool>` whose key signs; empty: not checked
  bool allow_reduced_trust = false;
  double temperature = 1.0;  ///< of the policy's sampling in PPO
  RewardKind reward = RewardKind::paper;
};

/// Which weight versions a trajectory may name.
struct PublishedVersions {
  std::set<std::uint64_t> published;
  std::set<std::uint64_t> abandoned;
};

enum class RejectCode { malformed, bad_version, wrong_model, bad_verdict };
std::string_view to_string(RejectCode code);

struct Rejection {
  RejectCode code = RejectCode::malformed;
  std::string detail;  ///< which field, and what it should have been
};

struct Admission {
  std::optional<Rejection> rejection;
  Use use = Use::none;  ///< admitted_use()
};

/// What an accepted trajectory may be used for: imitation instead of ppo where over 1 % of the
/// log-probabilities of its sampled tokens are NaN.
Use admitted_use(const Trajectory& trajectory);

/// Looks at one trajectory. An infrastructure failure is only held to its identity: it is kept for
/// diagnosis, and nothing is computed from it.
Admission admit(const Trajectory& trajectory, const AdmissionRules& rules,
                const PublishedVersions& versions);

}  // namespace swage::learner
