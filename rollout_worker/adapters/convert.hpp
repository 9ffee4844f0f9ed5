#pragma once

#include <optional>
#include <string>

#include "rollout_worker/api/evaluation.hpp"
#include "rollout_worker/api/policy.hpp"
#include "rollout_worker/api/rollout.hpp"
#include "rollout_worker/api/sandbox.hpp"
#include "rollout_worker/api/trajectory.hpp"
#include "swage/v1/dispatch.pb.h"
#include "swage/v1/evaluate.pb.h"
#include "swage/v1/sandbox.pb.h"
#include "swage/v1/trajectory.pb.h"

namespace swage::rollout_worker {

// Messages of the wire ↔ values of rollout_worker/api. Pure.

v1::RolloutRef to_wire(const RolloutKey& key);
v1::EvaluationMode to_wire(EvaluationMode mode);
v1::Sampling to_wire(const Sampling& sampling);
v1::Task to_wire(const TaskRecord& task);  ///< what was encoded
v1::RolloutReport to_wire(const RolloutReport& report);
v1::RolloutDone to_wire(const RolloutDone& done);
v1::Trajectory to_wire(const Trajectory& trajectory);
v1::SessionDown to_wire(const SandboxOrder& order);

RolloutKey from_wire(const v1::RolloutRef& ref);
/// A sentence when the assignment cannot be run: a missing or impossible field, by name.
Result<Assignment, std::string> from_wire(const v1::Assignment& message);
/// Nothing: an empty or unknown message.
std::optional<SandboxEvent> from_wire(v1::SessionUp message);
/// Nothing: the verdict's bytes are no Verdict of a schema that we know, or it lacks its code.
std::optional<Judgement> from_wire(const v1::SignedVerdict& message);

}  // namespace swage::rollout_worker
