#pragma once

#include "common/config/fields.hpp"
#include "learner/api/settings.hpp"

namespace swage::learner {

/// Takes `preset` (Cluster or OneMachine), `stages{…}`, `learning{…}` (names of
/// TrainingRun.spec.stages and .learning), `reward` and `evaluation_rollouts`. What is absent gets
/// the preset's value. Complaints go to `fields`.
Settings settings_from(Fields& fields);

}  // namespace swage::learner
