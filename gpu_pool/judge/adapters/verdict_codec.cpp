#include "gpu_pool/judge/adapters/verdict_codec.hpp"

#include <algorithm>
#include <filesystem>

#include "common/base/digest.hpp"
#include "common/base/time.hpp"
#include "gpu_pool/judge/core/quote.hpp"
#include "swage/v1/bundle.pb.h"
#include "swage/v1/verdict.pb.h"

namespace swage::judge {
namespace {

constexpr std::size_t kDetailLimit = 4096;
constexpr std::size_t kLogLimit = 16384;

v1::EvaluationMode proto_mode(Mode mode) {
  switch (mode) {
    case Mode::verify:
      return v1::EVALUATION_MODE_VERIFY;
    case Mode::profile:
      return v1::EVALUATION_MODE_PROFILE;
    case Mode::score:
      return v1::EVALUATION_MODE_SCORE;
  }
  return v1::EVALUATION_MODE_UNSPECIFIED;
}

void put(const ArmRecord& from, v1::ArmTime& to) {
  to.set_raw_us(from.raw_us);
  to.set_calibrated_us(from.calibrated_us);
  to.set_cv(from.cv);
}

void put(const Interval& from, v1::Ratio& to) {
  to.set_median(from.median);
  to.set_lo(from.lo);
  to.set_hi(from.hi);
}

void put(const TimingRecord& from, v1::Timing& to) {
  to.set_rounds(from.rounds);
  to.set_looks(from.looks);
  for (const auto& [reason, count] : from.voided) (*to.mutable_voided())[reason] = count;
  to.set_offset_us(from.offset_us);
  if (from.candidate) put(*from.candidate, *to.mutable_candidate());
  if (from.eager) put(*from.eager, *to.mutable_eager());
  if (from.twin) put(*from.twin, *to.mutable_twin());
  if (from.q_eager) put(*from.q_eager, *to.mutable_q_eager());
  if (from.q_twin) put(*from.q_twin, *to.mutable_q_twin());
  if (from.q_reference) put(*from.q_reference, *to.mutable_q_reference());
  if (from.compile) put(*from.compile, *to.mutable_compile());
  if (from.q_compile) put(*from.q_compile, *to.mutable_q_compile());
  to.set_baseline("fresh");
}

void put_checks(const VerdictRecord& record, v1::Verdict& verdict) {
  for (const auto& check : record.checks) {
    auto& to = *verdict.add_checks();
    to.set_kind(check.kind);
    to.set_distribution(check.distribution);
    to.set_set(check.set);
    to.set_elements(check.elements);
    to.set_max_abs(check.max_abs);
    to.set_passed(check.passed);
    if (check.rel_l2) to.set_rel_l2(*check.rel_l2);
    if (check.eager_rel_l2) to.set_eager_rel_l2(*check.eager_rel_l2);
    if (check.limit) to.set_limit(*check.limit);
  }
  verdict.set_gate_pass(!record.checks.empty() &&
                        std::ranges::all_of(record.checks, &CheckRecord::passed));
  if (record.precision_pass) verdict.set_precision_pass(*record.precision_pass);
  for (const auto& finding : record.policy) {
    auto& to = *verdict.add_policy();
    to.set_rule(finding.rule);
    to.set_detail(quote(finding.detail, kDetailLimit));
  }
}

void put_request(const JudgeRequest& request, v1::Verdict& verdict) {
  verdict.set_rollout_id(request.rollout_id);
  verdict.set_attempt(request.attempt);
  verdict.set_request(request.request);
  verdict.set_pool(request.pool);
  verdict.mutable_lease_token()->set_epoch(request.epoch);
  verdict.mutable_lease_token()->set_counter(request.counter);
  verdict.set_mode(proto_mode(request.mode));
  verdict.set_task_id(request.task_id);
  verdict.set_task_digest(request.task_digest);
}

void put_device(const VerdictRecord& record, v1::Verdict& verdict) {
  auto& device = *verdict.mutable_device();
  device.set_kind(record.device_kind);
  device.set_uuid(record.device_uuid);
  device.set_name(record.device_name);
  device.set_driver(record.device_driver);
  device.set_torch(record.torch);
  auto& trust = *verdict.mutable_trust();
  trust.set_level(record.missing_layers.empty() ? "full" : "reduced");
  for (const auto& layer : record.missing_layers) trust.add_missing(layer);
}

bool is_inside(const std::string& path) {
  const std::filesystem::path at(path);
  if (path.empty() || path.size() > 255 || at.is_absolute()) return false;
  return std::ranges::none_of(at, [](const auto& part) { return part == ".."; });
}

}  // namespace

std::string encode_verdict(const JudgeRequest& request, const VerdictRecord& record) {
  v1::Verdict verdict;
  verdict.set_schema_version(1);
  verdict.set_id(to_hex(random_bytes(16)));
  put_request(request, verdict);
  verdict.set_code(static_cast<v1::VerdictCode>(record.ending.code));
  verdict.set_detail(quote(record.ending.detail, kDetailLimit));
  verdict.set_phase(record.phase);
  verdict.set_solution_digest(record.solution_digest);
  verdict.set_library_digest(record.library_digest);
  verdict.set_toolchain(quote(record.toolchain, kDetailLimit));
  put_device(record, verdict);
  verdict.set_root_seed(record.root_seed);
  put_checks(record, verdict);
  if (record.timing) put(*record.timing, *verdict.mutable_timing());
  verdict.set_tier(record.tier);
  if (record.reward) verdict.set_reward(*record.reward);
  verdict.set_lease_ms(record.total_ms);
  for (const auto& [phase, ms] : record.phase_ms) (*verdict.mutable_phase_ms())[phase] = ms;
  verdict.set_log(quote(record.log, kLogLimit));
  verdict.set_finished_unix_ms(unix_ms());
  return verdict.SerializeAsString();
}

Result<Solution, std::string> decode_bundle(const std::string& bytes) {
  v1::Bundle bundle;
  if (!bundle.ParseFromString(bytes))
    return tl::unexpected<std::string>("the bundle cannot be read");
  Solution out;
  out.id = bundle.id();
  for (auto& file : *bundle.mutable_files()) {
    if (!is_inside(file.path()))
      return tl::unexpected<std::string>("the bundle has an impossible path");
    out.files.emplace_back(file.path(), std::move(*file.mutable_content()));
  }
  out.library = std::move(*bundle.mutable_library());
  out.compile_error = bundle.compile_error();
  out.toolchain = bundle.compile().toolchain();
  return out;
}

}  // namespace swage::judge
