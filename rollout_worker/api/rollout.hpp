#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/strong_id.hpp"

namespace swage::rollout_worker {

struct RolloutTag;
using RolloutId = StrongId<RolloutTag>;

/// One attempt at one rollout.
struct RolloutKey {
  RolloutId id;
  std::uint32_t attempt = 0;  ///< from 1
  auto operator<=>(const RolloutKey&) const = default;
  std::string text() const { return id.str() + "/" + std::to_string(attempt); }
};

/// Why a rollout ended.
enum class EndReason {
  no_tool_call,      ///< the policy spoke without asking for a tool
  schema_violation,  ///< three malformed calls in a row
  turn_limit,        ///< truncated
  context_full,      ///< truncated
  wall_clock,        ///< truncated
  cancelled,         ///< the controller asked for it
  infrastructure,    ///< sandbox, policy, pool or learner failed: says nothing about the agent
};
std::string_view name_of(EndReason reason);
/// turn_limit, context_full, wall_clock: the agent would have gone on.
constexpr bool is_truncation(EndReason reason) {
  return reason == EndReason::turn_limit || reason == EndReason::context_full ||
         reason == EndReason::wall_clock;
}

enum class Actor { policy, teacher };
enum class Use { ppo, imitation, evaluation };
enum class Phase { accepted, running, scoring, delivering };

struct Limits {
  std::uint32_t turns = 150;
  std::uint32_t context_tokens = 131'072;
  std::uint32_t turn_tokens = 8'192;         ///< of one policy message
  std::uint32_t observation_tokens = 8'000;  ///< of one observation
  std::chrono::seconds wall_clock{7'200};    ///< of the whole rollout, without lease waits
};

/// How the engine samples; 0 switches a filter off.
struct Sampling {
  float temperature = 1;
  std::uint32_t top_k = 0;
  float top_p = 0;
  float min_p = 0;
  std::uint64_t seed = 0;
};

/// What an assignment says about the rollout's place in the run. Carried into the trajectory, not
/// interpreted here.
struct Provenance {
  std::string run;
  std::string run_uid;
  std::uint32_t stage = 0;  ///< number of swage.v1.Stage
  std::uint32_t stage_round = 0;
  std::uint64_t group_id = 0;
  std::uint32_t group_index = 0;
  std::uint64_t seed = 0;
};

/// The task as sandbox and judge get it.
struct TaskRecord {
  std::string id;
  std::string digest;   ///< SHA-256 of model.py, 64 hex digits
  std::string encoded;  ///< a serialised swage.v1.Task, passed on as it came
};

struct SandboxEndpoint {
  std::string address;
  std::string token;
  std::string uid;  ///< pod uid, compared with what the sandbox says
};

/// One rollout to run, as the dispatcher sends it.
struct Assignment {
  RolloutKey key;
  std::uint64_t epoch = 0;  ///< of the leader that sent it
  Provenance provenance;
  TaskRecord task;
  SandboxEndpoint sandbox;
  Actor actor = Actor::policy;
  std::uint32_t teacher_card = 0;  ///< index into the task's deck
  Use use = Use::ppo;
  Limits limits;
  Sampling sampling;
  std::uint64_t min_weight_version = 0;
  std::string precision = "official";
  bool one_machine = false;    ///< a profile's score stands as the reward
  bool no_agent_loop = false;  ///< ablation: one turn, nothing is shown to the policy
  bool raw_speedup = false;    ///< ablation: reward is the measured speed-up
  std::uint32_t lease_weight = 1;
  std::uint32_t max_leases = 0;  ///< 0: no cap
};

/// What became of a rollout: told to the dispatcher once the learner has answered.
struct RolloutDone {
  RolloutKey key;
  EndReason reason = EndReason::infrastructure;
  bool delivered = false;            ///< the learner has it: the rollout id is taken
  std::string infrastructure_cause;  ///< sandbox_lost, policy_lost, pool_lost, …; empty if none
  std::optional<double> reward;
  std::uint32_t turns = 0;
  std::uint32_t tokens = 0;
  std::map<std::string, std::uint32_t> evaluations;  ///< verdicts by lower-case code
  std::uint32_t compile_count = 0;
  std::uint32_t compile_units = 0;
  std::uint32_t compile_cache_hits = 0;
  std::string isolation;  ///< of the sandbox: full or reduced
  std::string trust;      ///< of the final verdict; empty if none
};

/// Where a rollout stands.
struct RolloutReport {
  RolloutKey key;
  Phase phase = Phase::accepted;
  std::string sandbox_uid;
  std::uint32_t turns = 0;
  std::uint32_t tokens = 0;
};

}  // namespace swage::rollout_worker
