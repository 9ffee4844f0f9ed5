#include "gpu_pool/judge/app/plan.hpp"

namespace swage::judge {

Plan plan_for(const JudgeRequest& request) {
  Plan plan;
  plan.matched = request.precision == "matched";
  // The reference in double precision costs a host of its own: the quick forms do without.
  plan.measure_precision = plan.matched || (request.mode == Mode::score && !request.one_machine);
  if (request.budget_s > 0) plan.rounds = std::chrono::seconds(request.budget_s);
  if (request.mode == Mode::verify) return plan;
  if (request.rounds > 0) {
    plan.looks = {{request.rounds, order_index(request.rounds)}};
    return plan;
  }
  if (request.one_machine) {
    plan.looks = {{12, 3}};
    plan.offset_calls = 6;
  } else if (request.mode == Mode::profile) {
    plan.looks = {{20, 6}};
  } else {
    plan.looks = {{30, 9}, {60, 21}, {120, 47}};
  }
  return plan;
}

}  // namespace swage::judge
