#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/time.hpp"

namespace swage::controller {

struct SandboxSettings {
  std::uint64_t warm_min = 4;
  std::uint64_t warm_max = 64;
  double create_rate = 20;  ///< a second
  double create_burst = 50;
  std::uint64_t max_starting = 64;                    ///< created and not ready
  Duration renew_after = std::chrono::seconds(3600);  ///< age of a warm sandbox
  Duration ready_within = std::chrono::seconds(60);   ///< else it is replaced
  Duration unreported = std::chrono::seconds(60);     ///< claimed without a rollout: reaped
};

enum class SandboxState { starting, warm, claimed, ending };

struct SandboxCounts {
  std::uint64_t starting = 0;
  std::uint64_t warm = 0;
  std::uint64_t claimed = 0;
  std::uint64_t ending = 0;
};

/// Keeps sandboxes warm and hands them out, one trajectory each (design kubernetes.md, section 3):
///   starting → warm → claimed → ending.
/// Warm size = clamp(ceil(claims/s over 60 s * p90 ready time * 1.5) + warm_min,
///                   warm_min, min(warm_max, rollouts left)).
/// Circuit breaker: at least 10 unexpected deaths in 60 s and over half of the creations let one
/// creation through per 10 s, until three sandboxes became ready.
/// Pure: the caller names the sandboxes and does what tick() says.
class SandboxPool {
 public:
  explicit SandboxPool(SandboxSettings settings);

  struct Wanted {
    std::uint64_t create = 0;         ///< so many new ones, now
    std::vector<std::string> remove;  ///< uids to end
  };
  /// rollouts_left: that could still want one. live: uids that a rollout holds.
  Wanted tick(TimePoint now, std::uint64_t rollouts_left, const std::set<std::string>& live);

  void created(const std::string& uid, TimePoint now);
  /// One of an earlier controller: as new, or in use already.
  void adopted(const std::string& uid, bool claimed, TimePoint now);
  void ready(const std::string& uid, TimePoint now);
  /// The oldest warm one. Nothing: wait for the next to become ready.
  std::optional<std::string> claim(TimePoint now);
  /// Its rollout is over, or it is not wanted: true if it has to be ended now.
  bool end(const std::string& uid);
  /// It has ended. True if nobody had asked for that.
  bool gone(const std::string& uid, TimePoint now);

  SandboxCounts counts() const;
  bool circuit_open() const { return circuit_open_; }
  std::uint64_t warm_target(TimePoint now, std::uint64_t rollouts_left) const;

 private:
  struct Entry {
    SandboxState state = SandboxState::starting;
    TimePoint since;  ///< of the state
    TimePoint created;
  };
  std::uint64_t allowed_now(TimePoint now, std::uint64_t wanted);
  void watch_circuit(TimePoint now);

  SandboxSettings settings_;
  std::map<std::string, Entry> sandboxes_;
  std::deque<TimePoint> claims_, creations_, deaths_;  ///< of the last 60 s
  std::deque<Duration> ready_times_;                   ///< newest 100
  double tokens_;
  std::optional<TimePoint> refilled_;
  bool circuit_open_ = false;
  std::uint64_t ready_since_open_ = 0;
  TimePoint trickled_;
};

}  // namespace swage::controller
