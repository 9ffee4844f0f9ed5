#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "common/k8s/config.hpp"
#include "common/k8s/election.hpp"

namespace swage::k8s {

struct ElectorOptions {
  Config config;
  std::string name_space;
  std::string lease = "swage-controller";
  std::string identity;  ///< of this process alone, e.g. the pod's name and a random part
  std::string address;   ///< where this process serves, for those that ask a standby
  ElectionTimes times = {};
};

/// What an Elector tells. Called on its threads: post, and return at once.
struct ElectorEvents {
  std::function<void(std::uint64_t epoch)> leading;
  std::function<void(const LeaseRecord& leader)> leader_changed;
  /// The right to lead is over: end the process. Called at once and at most once, also when the
  /// elector's own thread hangs or the whole process was stopped for a while.
  std::function<void(const std::string& why)> lost;
};

/// Takes part in the election for one Lease, on a thread of its own, so that a busy process still
/// renews; a second thread, the watchdog, only compares the steady clock with the lease's end.
/// Life: stop() (also by the destructor) gives the Lease up, so that a successor need not wait.
class Elector {
 public:
  Elector(ElectorOptions options, ElectorEvents events);
  ~Elector();
  Elector(const Elector&) = delete;
  Elector& operator=(const Elector&) = delete;

  /// Stop acting as the leader before this. Joins both threads; at most one request deadline long.
  void stop();

  /// Any thread. False from the moment when the lease's right ends.
  bool leading() const;
  /// Until when a write may still be under way; any thread.
  TimePoint valid_until() const;
  /// Test only: makes the elector's thread hang until `released` is true.
  void hang_until(const std::atomic<bool>& released);

 private:
  class Loop;
  void watch_over();
  void renewed(TimePoint until);
  void lose(const std::string& why);

  ElectorOptions options_;
  ElectorEvents events_;
  mutable std::mutex mutex_;
  std::condition_variable moved_;
  TimePoint valid_until_{};
  bool leads_ = false, lost_ = false, stopping_ = false;
  std::unique_ptr<Loop> loop_;
  std::thread thread_, watchdog_;
};

}  // namespace swage::k8s
