#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "gpu_pool/lease/api/types.hpp"

/// What the queue remembers, as in Redis (leases.md §1). All times are microseconds of the server
/// clock. Ids are plain strings here: they are map keys and parts of sorted members.
namespace swage::lease {

using Micros = std::int64_t;

/// PoolSettings in the order in which the scripts keep them.
struct Settings {
  Micros ttl = 0, claim = 0, margin = 0, clearing = 0, hold = 0, wait = 0, absent = 0, silent = 0;
  std::int64_t waiting = 0, waiting_client = 0, attempts = 0, closed = 0;
  bool operator==(const Settings&) const = default;
};
Settings settings_from(const PoolSettings& settings);
PoolSettings settings_to(const Settings& settings);
std::array<std::int64_t, 12> settings_list(const Settings& settings);
Settings settings_from_list(const std::array<std::int64_t, 12>& list);

struct Meta {
  std::uint64_t epoch = 0;
  std::string server;  ///< identity that `epoch` was installed for
  Micros clock = 0, skew = 0;
  std::uint64_t counter = 0;
  Micros vclock = 0;
  std::int64_t generation = 0;  ///< parity says which of done0, done1 is written
  Micros swapped = 0;
  std::uint64_t floor = 0;  ///< highest epoch a worker has shown
  std::array<Micros, 3> means = {1'000'000, 1'000'000, 1'000'000};  ///< holds by class
  Settings settings;
  bool operator==(const Meta&) const = default;
};

struct GpuRecord {
  std::string state = "unconfirmed";
  std::string boot, address, request;
  Token token;  ///< of the last lease
  std::int64_t fails = 0;
  Micros since = 0;
  bool operator==(const GpuRecord&) const = default;
};

enum class RequestState { waiting, parked, granted, held };

struct RequestRecord {
  RequestState state = RequestState::waiting;
  std::string run;
  RequestClass cls = RequestClass::score;
  std::string client, gpu;
  Token token;
  Micros enqueued = 0, granted = 0;
  std::int64_t attempts = 0;
  Micros estimate = 0;         ///< charged at the grant
  std::uint64_t returned = 0;  ///< counter of the last lease given back for a retry
  bool operator==(const RequestRecord&) const = default;
};

struct RunRecord {
  double weight = 1;
  std::int64_t cap = 0, in_use = 0, queued = 0;
  Micros vt = 0;
  bool operator==(const RunRecord&) const = default;
};

/// All keys.
struct QueueState {
  bool installed = false;
  Meta meta;
  std::map<std::string, GpuRecord> gpus;
  std::map<std::string, Micros> free;  ///< by time freed
  std::map<std::string, RequestRecord> requests;
  std::set<std::string> wait;  ///< `run|rank|request`
  std::map<std::string, RunRecord> runs;
  std::map<std::string, Micros> eligible;  ///< runs that wait, by virtual time
  std::map<std::string, Micros> due;       ///< granted and held requests, by deadline
  std::array<std::map<std::string, std::string>, 2> done;
  std::map<std::string, std::int64_t> counters;
  std::map<std::string, Micros> seen;  ///< `g|gpu`, `c|client`: when it counts as silent
  bool operator==(const QueueState&) const = default;
};

}  // namespace swage::lease
