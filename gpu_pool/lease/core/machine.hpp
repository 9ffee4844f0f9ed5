#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu_pool/lease/core/records.hpp"
#include "gpu_pool/lease/core/replies.hpp"

namespace swage::lease {

/// The lease queue's state machine (leases.md §1-§5), the same as the Lua scripts: one function per
/// script, with the same answers and the same records. Pure: set the server's time and identity
/// with at() before each call; who listens to a mailbox is asked through `listens`, and what was
/// mailed stands in mailed().
class Machine {
 public:
  using Listens = std::function<bool(const std::string& client)>;
  explicit Machine(Listens listens) : listens_(std::move(listens)) {}

  /// The server's raw clock and its identity, for the calls that follow.
  void at(Micros raw_now, std::string server) {
    raw_now_ = raw_now;
    server_ = std::move(server);
  }

  // leader
  Reply<ServerState> inspect() const;
  Reply<InstallAnswer> install(std::uint64_t epoch, const std::string& server,
                               const Settings& settings);
  Reply<SweepCounts> sweep(std::uint64_t epoch, std::uint32_t limit);
  Reply<void> forget_gpu(std::uint64_t epoch, const std::string& gpu);
  Reply<void> forget_run(std::uint64_t epoch, const std::string& run);
  Reply<PoolSnapshot> snapshot() const;

  // GPU worker
  Reply<RegisterAnswer> register_gpu(const Registration& registration);
  Reply<HeartbeatAnswer> heartbeat(const std::string& gpu, const std::string& boot);
  Reply<ClearedAnswer> cleared(const std::string& gpu, const std::string& boot, Token token,
                               bool ok);
  Reply<bool> requalify(const std::string& gpu, const std::string& boot);

  // holder
  Reply<AcquireReply> acquire(const HoldAsk& ask, const std::string& client, Micros age,
                              bool first);
  Reply<RenewReply> renew(const std::string& request, Token token);
  Reply<void> release(const std::string& request, Token token, ReleaseAs how);
  Reply<std::vector<PollReply>> poll(const std::string& client,
                                     const std::vector<std::string>& requests);
  Reply<CancelAnswer> cancel(const std::string& request);

  const QueueState& state() const { return q_; }
  /// Grants mailed since the last call of this function.
  std::vector<MailedGrant> mailed() { return std::exchange(mailed_, {}); }
  /// Sets the server's clock forward, as an administrator might.
  void jump(Micros by) { q_.meta.skew += by; }

 private:
  bool begin();  ///< false: nothing was ever installed
  bool confirmed() const { return server_ == q_.meta.server; }
  void count(const std::string& what, std::int64_t by = 1) { q_.counters[what] += by; }
  void seen_client(const std::string& client);
  void seen_gpu(const std::string& gpu);
  static std::string member(const std::string& id, const RequestRecord& r);
  RequestRecord* live_lease(const GpuRecord& g);
  RequestRecord* find(const std::string& request);

  Micros bounded(const RunRecord& run, Micros vt) const;
  void put_run(const std::string& id, const RunRecord& run);
  void enqueue(const std::string& id);
  void dequeue(const std::string& id);
  void park(const std::string& id);
  void finish(const std::string& id, const std::string& state);
  std::optional<std::string> ended(const std::string& id) const;
  void grant(const std::string& id, const std::string& gpu, RequestState state);
  void settle(const std::string& id, bool measured);
  void requeue(const std::string& id);
  void expire(const std::string& id);
  void suspect(const std::string& gpu);
  void unsure(const std::string& gpu);
  bool hand_on(const std::string& gpu, const std::set<std::string>& here = {},
               RequestState state = RequestState::granted);
  void use_free(const std::set<std::string>& here, RequestState state);
  void vacate(const std::string& gpu);
  void take_back(std::uint32_t limit, SweepCounts& counts);
  void drop(const std::string& id, const std::string& state);
  void worker_absent(const std::string& gpu, SweepCounts& counts);
  void client_silent(const std::string& client, SweepCounts& counts);
  void time_out(std::uint32_t limit, SweepCounts& counts);
  void quarantine_slow(SweepCounts& counts);
  void register_lease(const Registration& registration, bool new_boot, bool& restored);
  void restore(const Registration& registration, const RunningLease& running);
  std::optional<std::string> first_of(const std::string& run) const;
  std::optional<std::string> next_run() const;
  std::optional<std::string> latest_free() const;
  AcquireReply state_of(const std::string& id, bool first) const;

  Listens listens_;
  std::vector<MailedGrant> mailed_;
  Micros raw_now_ = 0, now_ = 0;
  std::string server_;
  QueueState q_;
};

}  // namespace swage::lease
