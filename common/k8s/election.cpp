#include "common/k8s/election.hpp"

namespace swage::k8s {
namespace {

constexpr auto kAddress = "swage.dev/address";
constexpr auto kEpoch = "swage.dev/epoch";

std::uint64_t number(const std::map<std::string, std::string>& texts, const char* key) {
  const auto found = texts.find(key);
  return found == texts.end() ? 0 : revision(found->second).value_or(0);
}

}  // namespace

LeaseRecord lease_record(const Json& lease) {
  const auto meta = meta_of(lease);
  LeaseRecord record;
  record.resource_version = meta.resource_version;
  record.epoch = number(meta.annotations, kEpoch);
  if (const auto found = meta.annotations.find(kAddress); found != meta.annotations.end())
    record.address = found->second;
  const auto spec = lease.find("spec");
  if (spec == lease.end() || !spec->is_object()) return record;
  if (const auto holder = spec->find("holderIdentity");
      holder != spec->end() && holder->is_string())
    record.holder = holder->get<std::string>();
  if (const auto count = spec->find("leaseTransitions");
      count != spec->end() && count->is_number_integer())
    record.transitions = count->get<std::int64_t>();
  return record;
}

Json lease_object(const LeaseRecord& record, const std::string& name_space, const std::string& name,
                  const ElectionTimes& times, const std::string& acquired_text,
                  const std::string& now_text) {
  Json metadata{
      {"name", name},
      {"namespace", name_space},
      {"annotations", {{kAddress, record.address}, {kEpoch, std::to_string(record.epoch)}}}};
  if (!record.resource_version.empty()) metadata["resourceVersion"] = record.resource_version;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(times.duration).count();
  return {{"metadata", std::move(metadata)},
          {"spec",
           {{"holderIdentity", record.holder},
            {"leaseDurationSeconds", seconds},
            {"acquireTime", acquired_text},
            {"renewTime", now_text},
            {"leaseTransitions", record.transitions}}}};
}

void Election::observed(const std::optional<LeaseRecord>& record, TimePoint now) {
  const auto version = [](const std::optional<LeaseRecord>& r) {
    return r ? r->resource_version : std::string();
  };
  must_read_ = false;
  if (known_ && version(record) == version(record_)) return;
  // A watch may show an older state after our own write.
  if (record && record_ && older(record->resource_version, record_->resource_version)) return;
  known_ = true;
  record_ = record;
  changed_ = now;
  if (leading_ && (!record || record->holder != identity_)) lost_ = true;
}

std::optional<Election::Write> Election::next(TimePoint now) {
  if (!known_ || must_read_ || lost_) return std::nullopt;
  if (leading_ && record_) {
    if (now < renew_at_) return std::nullopt;
    return Write{*record_, false};
  }
  const bool taken = record_ && !record_->holder.empty() && record_->holder != identity_;
  if (taken && now - changed_ < times_.duration) return std::nullopt;
  LeaseRecord mine = record_.value_or(LeaseRecord{});
  if (record_ && record_->holder != identity_) ++mine.transitions;
  mine.holder = identity_;
  mine.address = address_;
  ++mine.epoch;
  return Write{mine, !record_};
}

void Election::written(const LeaseRecord& record, TimePoint sent, TimePoint now) {
  record_ = record;
  changed_ = now;
  known_ = true;
  must_read_ = false;
  leading_ = record.holder == identity_;
  epoch_ = record.epoch;
  valid_until_ = sent + times_.renew_deadline;
  renew_at_ = sent + times_.retry;
}

void Election::write_failed() { must_read_ = true; }

std::optional<Election::Write> Election::resign() {
  if (!leading_ || lost_ || !record_) return std::nullopt;
  lost_ = true;
  LeaseRecord free = *record_;
  free.holder.clear();
  free.address.clear();
  return Write{free, false};
}

Election::State Election::state(TimePoint now) {
  if (leading_ && now >= valid_until_) lost_ = true;
  if (lost_) return State::lost;
  return leading_ ? State::leading : State::standby;
}

}  // namespace swage::k8s
