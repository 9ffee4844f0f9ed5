#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace swage::learner {

/// Which work a trajectory belongs to, and where a run stands.
enum class Stage { single_turn, collect, rft, critic, agentic, evaluation, done };

std::string_view to_string(Stage stage);
std::optional<Stage> stage_from(std::string_view name);

enum class RolloutStop {
  none,
  no_tool_call,
  schema_violation,
  turn_limit,
  context_full,
  wall_clock,
  cancelled,
  infrastructure,
};

enum class Actor { policy, teacher };
enum class Use { none, ppo, imitation, evaluation };

/// Tokens [begin, end) were sampled by weights `version`.
struct VersionSpan {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint64_t version = 0;
};

struct Call {
  std::string name;
  std::string arguments_digest;  ///< of the canonical arguments
  bool schema_valid = false;
};

/// One policy message [policy_begin, policy_end) and what was observed, up to observation_end.
struct Turn {
  std::uint32_t policy_begin = 0;
  std::uint32_t policy_end = 0;
  std::uint32_t observation_end = 0;
  std::vector<Call> calls;
  std::string observation_digest;
  std::string work_digest;
};

struct RewardEntry {
  std::uint32_t position = 0;  ///< token index
  double value = 0;
  std::string kind;
};

/// What a verdict says about the work, as far as a reward goes.
enum class Outcome {
  right,     ///< correct; the tier says how fast
  wrong,     ///< the agent's fault, of whatever kind
  unstable,  ///< correct, but no time could be measured
  none,      ///< the task, the judge or its host failed: decides nothing
};

/// What the learner needs of a judge's verdict.
struct VerdictSummary {
  bool signature_valid = false;  ///< HMAC under the pool's key, checked where the bytes are
  std::string rollout_id;
  std::uint32_t attempt = 0;
  std::string task_id;
  std::string task_digest;
  std::string pool;
  bool scored = false;  ///< the mode was `score`
  Outcome outcome = Outcome::none;
  bool full_trust = false;              ///< every isolation layer held
  std::uint32_t tier = 0;               ///< 0 to 3
  std::optional<double> reward;         ///< as the judge wrote it
  std::optional<double> ratio_compile;  ///< candidate / compile, median of the rounds
  std::string code;                     ///< name of the outcome, for people
};

/// One finished rollout, as its rollout worker handed it over.
struct Trajectory {
  std::uint32_t schema_version = 0;
  std::string rollout_id;
  std::uint32_t attempt = 0;
  std::string run_uid;
  std::optional<Stage> stage;
  std::uint32_t stage_round = 0;
  std::string task_id;
  std::string task_digest;
  std::uint64_t group_id = 0;
  std::uint32_t group_index = 0;
  std::string config_digest;
  std::string tokenizer_digest;
  std::string renderer;
  double temperature = 0;
  bool filtered = false;  ///< a sampling filter was on
  Actor actor = Actor::policy;
  Use use = Use::none;
  std::vector<VersionSpan> spans;
  std::vector<std::uint32_t> ids;         ///< [T]
  std::vector<std::uint8_t> mask;         ///< [T], 1 = produced by the actor
  std::vector<float> behaviour_logprobs;  ///< [T], NaN where the mask is 0
  std::vector<Turn> turns;
  std::vector<RewardEntry> rewards;
  std::vector<VerdictSummary> verdicts;
  std::optional<std::uint32_t> final_verdict;  ///< index into verdicts
  RolloutStop stop_reason = RolloutStop::none;
  bool truncated = false;
  std::string infrastructure_failure;  ///< cause; empty if none
};

/// p_1 < … < p_n: the positions with mask 1.
std::vector<std::uint32_t> policy_positions(const Trajectory& trajectory);

}  // namespace swage::learner
