#pragma once

#include "learner/app/stage_host.hpp"

namespace swage::learner {

/// Each stage runs from `host.state().step` to its end. True: done; false: stopping, and the state
/// is one that a checkpoint may hold. They are re-run from any such state with the same outcome.

/// Waits until the trajectories of a collect stage or of an evaluation round are in the log.
Task<bool> run_gather(StageHost& host, StopSource& stop);
/// Rejection-sampling fine-tuning on the first collected trajectories.
Task<bool> run_rft(StageHost& host, StopSource& stop);
/// Critic pretraining on all of them.
Task<bool> run_critic(StageHost& host, StopSource& stop);
/// PPO, single-turn or agentic.
Task<bool> run_ppo(StageHost& host, StopSource& stop);

/// The collected set: the first `collect.trajectories` of the log. Throws when the log cannot be
/// read.
Task<std::vector<Trajectory>> collected(StageHost& host);

/// All stages of the plan from the state's on, with publication and a checkpoint at every boundary.
/// Returns when done, or at `stop` after a last checkpoint.
Task<> run_stages(StageHost& host, StopSource& stop);

}  // namespace swage::learner
