#pragma once

#include <optional>
#include <string>

#include "learner/core/ledger.hpp"

namespace swage::learner {

/// Payloads of the log's frames that are not trajectories: one JSON object each.
std::string to_payload(const VersionRecord& record);
std::string to_payload(const BatchRecord& record);
std::string to_payload(const AbandonRecord& record);

/// And back; nothing for what was not written by the above.
std::optional<VersionRecord> version_record_from(const std::string& payload);
std::optional<BatchRecord> batch_record_from(const std::string& payload);
std::optional<AbandonRecord> abandon_record_from(const std::string& payload);

}  // namespace swage::learner
