#include "gpu_pool/worker/adapters/evaluator_messages.hpp"

#include <utility>
#include <vector>

#include "common/base/digest.hpp"
#include "common/base/present.hpp"
#include "sandbox/api/bundle.hpp"
#include "swage/v1/bundle.pb.h"

namespace swage::worker {
namespace {

constexpr std::size_t kMaxSourceBytes = std::size_t{1} << 20;
constexpr std::uint64_t kTokenLimit = std::uint64_t{1} << 53;

v1::EvaluateRefusal refusal_code(Refusal code) {
  switch (code) {
    case Refusal::stale:
      return v1::EVALUATE_REFUSAL_STALE;
    case Refusal::duplicate_token:
      return v1::EVALUATE_REFUSAL_DUPLICATE_TOKEN;
    case Refusal::bad_bundle:
      return v1::EVALUATE_REFUSAL_BAD_BUNDLE;
    case Refusal::lease_expired:
      return v1::EVALUATE_REFUSAL_LEASE_EXPIRED;
    case Refusal::draining:
      return v1::EVALUATE_REFUSAL_DRAINING;
  }
  return v1::EVALUATE_REFUSAL_UNSPECIFIED;
}

std::optional<judge::Mode> mode_from(v1::EvaluationMode mode) {
  switch (mode) {
    case v1::EVALUATION_MODE_VERIFY:
      return judge::Mode::verify;
    case v1::EVALUATION_MODE_PROFILE:
      return judge::Mode::profile;
    case v1::EVALUATION_MODE_SCORE:
      return judge::Mode::score;
    default:
      return std::nullopt;
  }
}

tl::unexpected<std::string> refuse(std::string why) { return tl::unexpected(std::move(why)); }

/// Why the start cannot be used; empty if it can.
std::string complaint(const v1::EvaluateStart& start) {
  if (!lease::valid_id(start.request())) return "request must match [A-Za-z0-9._-]{1,96}";
  if (!lease::valid_id(start.run_uid())) return "run_uid must match [A-Za-z0-9._-]{1,96}";
  if (start.lease_token().epoch() == 0 || start.lease_token().epoch() >= kTokenLimit ||
      start.lease_token().counter() >= kTokenLimit)
    return "lease_token is missing or out of range";
  if (start.rollout().rollout_id().empty() || start.rollout().attempt() == 0)
    return "rollout is missing";
  if (!mode_from(start.mode())) return "mode is unknown";
  if (start.precision() != "official" && start.precision() != "matched")
    return "precision must be `official` or `matched`";
  if (start.task().source().empty() || start.task().source().size() > kMaxSourceBytes)
    return "task.source must have 1 byte to 1 MiB";
  if (sha256_hex(start.task().source()) != start.task().digest())
    return "task.digest is not the digest of task.source";
  if (start.bundle_bytes() == 0 || start.bundle_bytes() > sandbox::kMaxBundleBytes)
    return "bundle_bytes must be 1 to " + std::to_string(sandbox::kMaxBundleBytes);
  return {};
}

}  // namespace

Result<EvaluationCall, std::string> call_from(const v1::EvaluateStart& start,
                                              const std::string& pool) {
  if (auto why = complaint(start); !why.empty()) return tl::unexpected(std::move(why));
  EvaluationCall call;
  call.request = lease::RequestId(start.request());
  call.token = {start.lease_token().epoch(), start.lease_token().counter()};
  call.client = lease::ClientId(start.client());
  call.valid_for = std::chrono::milliseconds(start.valid_for_ms());
  auto& work = call.work;
  work.request = start.request();
  work.rollout_id = start.rollout().rollout_id();
  work.attempt = start.rollout().attempt();
  work.run_uid = start.run_uid();
  work.pool = pool;
  work.epoch = call.token.epoch;
  work.counter = call.token.counter;
  work.mode = present(mode_from(start.mode()), "complaint() knows the modes");
  work.task_id = start.task().id();
  work.task_source = start.task().source();
  work.task_digest = start.task().digest();
  work.precision = start.precision();
  work.one_machine = start.one_machine();
  return call;
}

Result<void, std::string> check_bundle(const std::string& bytes, const std::string& id) {
  v1::Bundle bundle;
  if (!bundle.ParseFromString(bytes)) return refuse("the bytes are not a bundle");
  std::vector<sandbox::WorkFile> files;
  for (auto& file : *bundle.mutable_files())
    files.push_back({file.path(), file.mode(), std::move(*file.mutable_content())});
  if (auto ok = sandbox::check_bundle_files(files); !ok) return ok;
  if (auto ok = sandbox::check_bundle_library(bundle.library()); !ok) return ok;
  if (bundle.id() != id) return refuse("the bundle has another id than was announced");
  if (sandbox::bundle_id(std::move(files), bundle.library()) != id)
    return refuse("the bundle's content does not agree with its id");
  return {};
}

v1::EvaluateResponse refused_message(const Refused& refused) {
  v1::EvaluateResponse response;
  response.mutable_refused()->set_code(refusal_code(refused.code));
  response.mutable_refused()->set_detail(refused.detail);
  return response;
}

v1::EvaluateResponse verdict_message(const judge::JudgeOutcome& outcome) {
  v1::EvaluateResponse response;
  response.mutable_verdict()->set_verdict(outcome.verdict);
  response.mutable_verdict()->set_hmac(outcome.hmac);
  return response;
}

v1::EvaluateResponse progress_message(const judge::Progress& progress) {
  v1::EvaluateResponse response;
  response.mutable_progress()->set_phase(progress.phase);
  response.mutable_progress()->set_done(progress.done);
  response.mutable_progress()->set_total(progress.total);
  return response;
}

}  // namespace swage::worker
