#include "rollout_worker/app/leased_evaluator.hpp"

#include <utility>

#include "common/log/log.hpp"

namespace swage::rollout_worker {
namespace {

lease::RequestClass class_of(EvaluationMode mode) {
  switch (mode) {
    case EvaluationMode::verify:
      return lease::RequestClass::verify;
    case EvaluationMode::profile:
      return lease::RequestClass::profile;
    case EvaluationMode::score:
      return lease::RequestClass::score;
  }
  return lease::RequestClass::verify;
}

lease::HoldAsk ask_for(const EvaluationOrder& order) {
  lease::HoldAsk ask;
  ask.request = lease::RequestId(order.request);
  ask.run = lease::RunUid(order.run_uid);
  ask.cls = class_of(order.mode);
  ask.weight = order.lease_weight;
  ask.cap = order.max_leases;
  for (const auto& gpu : order.avoid)
    if (ask.avoid.size() < 3) ask.avoid.emplace_back(gpu);
  ask.task = order.task.digest;
  return ask;
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

Task<Result<Judgement, EvaluationErrc>> LeasedEvaluator::evaluate(EvaluationOrder order,
                                                                  StopSource& stop) {
  const auto name = order.request;
  for (int number = 1; number <= kTries; ++number) {
    if (number > 1) order.request = name + "." + std::to_string(number);
    const auto asked = clock_.now();
    auto lease = co_await holder_.hold(ask_for(order), stop);
    if (!lease) {
      if (lease.error() == lease::HoldErrc::cancelled)
        co_return tl::unexpected(EvaluationErrc::cancelled);
      log_warning("no lease", {{"rollout_id", order.rollout.id},
                               {"request", order.request},
                               {"error", static_cast<int>(lease.error())}});
      if (kind_of(lease.error()) == FailureKind::retry) continue;
      co_return tl::unexpected(EvaluationErrc::pool_lost);
    }
    metrics_.lease_waited(order.mode, seconds(clock_.now() - asked));
    const auto began = clock_.now();
    auto judgement = co_await under_lease(std::move(*lease), order, stop);
    if (judgement) {
      metrics_.judged(*judgement, seconds(clock_.now() - began));
      co_return std::move(*judgement);
    }
    if (judgement.error() == JudgeErrc::cancelled)
      co_return tl::unexpected(EvaluationErrc::cancelled);
    if (judgement.error() == JudgeErrc::refused) co_return tl::unexpected(EvaluationErrc::refused);
  }
  co_return tl::unexpected(EvaluationErrc::pool_lost);
}

Task<Result<Judgement, JudgeErrc>> LeasedEvaluator::under_lease(std::unique_ptr<lease::Lease> lease,
                                                                EvaluationOrder order,
                                                                StopSource& stop) {
  const auto granted = clock_.now();
  auto judgement = co_await judge_.evaluate(*lease, std::move(order), stop);
  // A verdict or a refusal is the worker's word that nothing of ours runs there any more.
  const bool silent = !judgement && (judgement.error() == JudgeErrc::broken ||
                                     judgement.error() == JudgeErrc::cancelled);
  std::ignore =
      co_await lease->release(silent ? lease::ReleaseAs::unsure : lease::ReleaseAs::clear);
  metrics_.lease_held(seconds(clock_.now() - granted));
  co_return judgement;
}

}  // namespace swage::rollout_worker
