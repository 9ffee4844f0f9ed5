#include "learner/adapters/log_records.hpp"

#include <nlohmann/json.hpp>

#include "common/base/json_text.hpp"

namespace swage::learner {
namespace {

using nlohmann::json;

json with_slot(const StageSlot& slot, std::uint64_t step) {
  return {{"schema_version", 1},
          {"stage", std::string(to_string(slot.stage))},
          {"round", slot.round},
          {"step", step}};
}

/// Runs `fill` on the parsed object; nothing when a field is missing or ill-typed.
template <class Record, class Fill>
std::optional<Record> parsed(const std::string& payload, Fill fill) {
  try {
    const auto object = json::parse(payload);
    const auto stage = stage_from(object.at("stage").get<std::string>());
    if (object.at("schema_version").get<int>() != 1 || !stage) return std::nullopt;
    Record record;
    record.slot = {*stage, object.at("round").get<std::uint32_t>()};
    record.step = object.at("step").get<std::uint64_t>();
    fill(object, record);
    return record;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::string to_payload(const VersionRecord& record) {
  auto object = with_slot(record.slot, record.step);
  object["version"] = record.version;
  return json_text(object);
}

std::string to_payload(const BatchRecord& record) {
  auto object = with_slot(record.slot, record.step);
  object["rollout_ids"] = record.rollout_ids;
  return json_text(object);
}

std::string to_payload(const AbandonRecord& record) {
  auto object = with_slot(record.slot, record.step);
  object["versions"] = record.versions;
  return json_text(object);
}

std::optional<VersionRecord> version_record_from(const std::string& payload) {
  return parsed<VersionRecord>(payload, [](const json& object, VersionRecord& record) {
    record.version = object.at("version").get<std::uint64_t>();
  });
}

std::optional<BatchRecord> batch_record_from(const std::string& payload) {
  return parsed<BatchRecord>(payload, [](const json& object, BatchRecord& record) {
    record.rollout_ids = object.at("rollout_ids").get<std::vector<std::string>>();
  });
}

std::optional<AbandonRecord> abandon_record_from(const std::string& payload) {
  return parsed<AbandonRecord>(payload, [](const json& object, AbandonRecord& record) {
    record.versions = object.at("versions").get<std::vector<std::uint64_t>>();
  });
}

}  // namespace swage::learner
