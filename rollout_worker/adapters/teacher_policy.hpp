#pragma once

#include <filesystem>
#include <memory>

#include "rollout_worker/api/policy.hpp"
#include "rollout_worker/api/renderer.hpp"

namespace swage::rollout_worker {

/// The scripted teacher as a policy: it plays the assignment's card of its task's deck, one message
/// a turn, whatever it is shown. tasks: a folder per task id, each with `teacher/deck.json`; read
/// when a session opens its mouth. It has no log-probabilities and no weight version. The renderer
/// outlives it. A task without a deck, or a card that the deck lacks, is `incompatible`.
std::unique_ptr<PolicyDirectory> make_teacher(const Renderer& renderer,
                                              std::filesystem::path tasks);

}  // namespace swage::rollout_worker
