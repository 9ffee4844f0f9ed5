#pragma once

#include <string>
#include <vector>

#include "rollout_worker/api/renderer.hpp"
#include "rollout_worker/core/teacher_script.hpp"

namespace swage::rollout_worker {

/// What stands in the trajectories of one task, one text after the other, each ended by a line
/// feed: the task's name, every message of every card (equal ones as often as they are dealt), and
/// the observations that tools and judge give to them. The tokenizer of `scratch:tiny` is trained
/// on it, so frequent lines become single tokens.
std::string teacher_corpus(const std::string& task_id, const std::string& model_py,
                           const TeacherDeck& deck);

/// The observations of one trajectory that plays a card, in order, one list per message.
std::vector<std::vector<std::string>> typical_observations(const std::string& model_py,
                                                           const TeacherDeck& deck,
                                                           std::size_t card);

/// Tokens of one whole trajectory of the teacher with typical observations.
struct TrajectorySize {
  std::size_t tokens = 0;
  std::size_t sampled = 0;  ///< of them, what the teacher says
};
TrajectorySize trajectory_size(const Renderer& renderer, const std::string& task_id,
                               const std::string& model_py, const TeacherDeck& deck,
                               std::size_t card);

}  // namespace swage::rollout_worker
