#pragma once

#include <optional>

#include "sandbox/api/session_link.hpp"
#include "swage/v1/sandbox.pb.h"

namespace swage::sandbox {

/// Nothing: a message without a kind.
std::optional<SessionDown> from_wire(v1::SessionDown message);
v1::SessionUp to_wire(SessionUp message);
v1::Bundle to_wire(PackedBundle bundle);
/// The part of a verdict that its agent is told.
Evaluation evaluation_from(const v1::Verdict& verdict);

}  // namespace swage::sandbox
