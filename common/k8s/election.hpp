#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "common/base/time.hpp"
#include "common/k8s/object.hpp"

namespace swage::k8s {

struct ElectionTimes {
  Duration duration = std::chrono::seconds(10);  ///< a lease not renewed for so long is free
  Duration renew_deadline =
      std::chrono::seconds(6);  ///< a leader that cannot renew for so long ends
  Duration retry = std::chrono::seconds(2);
  Duration request_deadline = std::chrono::seconds(2);
};

/// A coordination.k8s.io Lease as electors use it.
struct LeaseRecord {
  std::string holder;       ///< empty: nobody
  std::string address;      ///< where the holder serves (annotation swage.dev/address)
  std::uint64_t epoch = 0;  ///< annotation swage.dev/epoch: rises with each new leader
  std::int64_t transitions = 0;
  std::string resource_version;  ///< empty: the object does not exist
};

LeaseRecord lease_record(const Json& lease);
/// The whole object that makes `record` so. now_text: RFC 3339 with microseconds; acquired_text:
/// when this holder won.
Json lease_object(const LeaseRecord& record, const std::string& name_space, const std::string& name,
                  const ElectionTimes& times, const std::string& acquired_text,
                  const std::string& now_text);

/// Decides who leads, by one Lease. Pure. Every write names the resourceVersion that was read, so
/// of two candidates one gets a conflict. Nobody's clock is compared with another's: a lease is
/// over when it has stood unchanged for its duration on *our* steady clock, and a leader's right
/// ends renew_deadline after the moment before its last good renewal was *sent*.
class Election {
 public:
  struct Write {
    LeaseRecord record;
    bool create;
  };
  enum class State { standby, leading, lost };

  Election(std::string identity, std::string address, ElectionTimes times)
      : identity_(std::move(identity)), address_(std::move(address)), times_(times) {}

  /// What a GET, a watch or the answer to a write has shown. Nothing: the Lease does not exist.
  void observed(const std::optional<LeaseRecord>& record, TimePoint now);
  /// What to write now, to win or to renew; nothing: wait.
  std::optional<Write> next(TimePoint now);
  /// A write of ours was accepted; sent: the time before it was sent.
  void written(const LeaseRecord& record, TimePoint sent, TimePoint now);
  /// A write of ours failed, or is unanswered: what the Lease holds has to be read again.
  void write_failed();
  /// Gives the Lease up: the write that does so, when we lead.
  std::optional<Write> resign();

  /// leading until the lease's right is over on our own clock; then lost, for ever.
  State state(TimePoint now);
  TimePoint valid_until() const { return valid_until_; }
  std::uint64_t epoch() const { return epoch_; }
  /// The last leader that was seen, also ourselves.
  const std::optional<LeaseRecord>& record() const { return record_; }
  bool must_read() const { return must_read_; }

 private:
  std::string identity_, address_;
  ElectionTimes times_;
  std::optional<LeaseRecord> record_;
  TimePoint changed_{};  // when record_ was first seen so
  bool known_ = false, must_read_ = true, leading_ = false, lost_ = false;
  TimePoint valid_until_{}, renew_at_{};
  std::uint64_t epoch_ = 0;
};

}  // namespace swage::k8s
