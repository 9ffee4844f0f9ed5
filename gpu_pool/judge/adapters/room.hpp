#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace swage::judge {

/// The judge's processors: its own, and those of the hosts, which it may use while they are
/// stopped. Life: until it goes; the threads are joined then. Thread: the judge's only.
class Room {
 public:
  Room(std::vector<int> judge_cores, std::vector<int> host_cores);
  ~Room();
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  /// Runs fn(part, parts) for each part at once: on this thread and on one thread per host core.
  void share(const std::function<void(std::size_t part, std::size_t parts)>& fn);

  /// share() over [0, count) in pieces that begin at multiples of `block`.
  void share_range(std::uint64_t count, std::uint64_t block,
                   const std::function<void(std::uint64_t begin, std::uint64_t end)>& fn);

  /// Drives everything else out of the hosts' caches: one thread on each host core goes through its
  /// part of max(64 MiB, twice the last-level cache).
  void flush();

 private:
  class Crew;
  std::unique_ptr<Crew> crew_;
};

}  // namespace swage::judge
