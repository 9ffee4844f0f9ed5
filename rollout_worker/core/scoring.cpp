#include "rollout_worker/core/scoring.hpp"

namespace swage::rollout_worker {

bool is_infrastructure(std::string_view code) {
  return code == "infra_error" || code == "task_invalid";
}

bool judge_again(std::string_view code, std::uint32_t tries) {
  if (code == "infra_error") return tries < 3;
  if (code == "gpu_fault" || code == "timing_unstable") return tries < 2;
  return false;
}

std::optional<double> reward_of(const Judgement& judgement, bool raw_speedup) {
  if (judgement.mode != EvaluationMode::score || is_infrastructure(judgement.code))
    return std::nullopt;
  if (raw_speedup) {
    if (judgement.code != "ok" || !judgement.to_compile || judgement.to_compile->median <= 0)
      return -1.0;
    return 1.0 / judgement.to_compile->median;
  }
  return judgement.reward;
}

}  // namespace swage::rollout_worker
