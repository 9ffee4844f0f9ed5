#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "rollout_worker/api/evaluation.hpp"

namespace swage::rollout_worker {

/// The reward that a score's verdict is worth (judge.md, section 6). Nothing: it decides none
/// (task_invalid, infra_error, or no score), so the rollout must not be scored. raw_speedup (the
/// ablation): 1 / median ratio to torch.compile for right kernels, else −1.
std::optional<double> reward_of(const Judgement& judgement, bool raw_speedup);

/// Whether work with this verdict is judged again, `tries` evaluations having been made.
bool judge_again(std::string_view code, std::uint32_t tries);

/// Whether the verdict says nothing about the kernel.
bool is_infrastructure(std::string_view code);

}  // namespace swage::rollout_worker
