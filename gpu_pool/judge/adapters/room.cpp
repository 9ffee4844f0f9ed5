#include "gpu_pool/judge/adapters/room.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <semaphore>
#include <string>
#include <thread>

#include "common/base/check.hpp"

namespace swage::judge {
namespace {

constexpr std::size_t kHugePage = 2UL << 20;

void pin_to(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(static_cast<std::size_t>(core), &set);
  ::sched_setaffinity(0, sizeof set, &set);  // refused: timing is noisier, nothing else
}

/// First in line for a processor, where that is allowed: the judge sleeps while a call runs, and a
/// late wake-up would count as the candidate's time.
void go_first() {
  sched_param first{};
  first.sched_priority = 2;
  if (::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first) != 0)
    ::setpriority(PRIO_PROCESS, 0, -15);
}

/// Size of the largest cache of a core, from the kernel (the C library's own figure counts caches
/// of sockets that a virtual machine does not have).
std::size_t last_level_bytes(int core) {
  std::size_t most = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cache/index" +
                       std::to_string(index) + "/size");
    std::size_t kibibytes = 0;
    if (file >> kibibytes) most = std::max(most, kibibytes << 10U);
  }
  return most;
}

}  // namespace

/// The helper threads and the flush buffer.
class Room::Crew {
 public:
  Crew(const std::vector<int>& cores, std::size_t buffer_bytes)
      : bytes_((buffer_bytes + kHugePage - 1) / kHugePage * kHugePage) {
    buffer_ = static_cast<char*>(std::aligned_alloc(kHugePage, bytes_));
    check(buffer_ != nullptr, "no memory for the flush buffer");
    ::madvise(buffer_, bytes_, MADV_HUGEPAGE);
    for (std::size_t i = 0; i < cores.size(); ++i) members_.push_back(std::make_unique<Member>());
    for (std::size_t i = 0; i < members_.size(); ++i)
      members_[i]->thread = std::thread([this, i, core = cores[i]] { serve(i, core); });
  }
  ~Crew() {
    work_ = nullptr;
    for (auto& member : members_) member->wake.release();
    for (auto& member : members_) member->thread.join();
    std::free(buffer_);
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  std::size_t size() const { return members_.size(); }

  /// Starts fn(i) on every member; finish() waits for all.
  void start(std::function<void(std::size_t)> fn) {
    work_ = std::move(fn);
    for (auto& member : members_) member->wake.release();
  }
  void finish() {
    for (auto& member : members_) member->done.acquire();
  }

  /// One member's share of the buffer, written, so that its lines take the place of all others.
  void sweep(std::size_t member) {
    const std::size_t share = bytes_ / members_.size() / 64 * 64;
    volatile char* at = buffer_ + member * share;
    for (std::size_t i = 0; i < share; i += 64) at[i] = 1;
  }

 private:
  struct Member {
    std::binary_semaphore wake{0};
    std::binary_semaphore done{0};
    std::thread thread;
  };

  void serve(std::size_t index, int core) {
    pin_to({core});
    go_first();
    while (true) {
      members_[index]->wake.acquire();
      if (!work_) return;
      work_(index);
      members_[index]->done.release();
    }
  }

  std::size_t bytes_;
  char* buffer_ = nullptr;
  std::function<void(std::size_t)> work_;  // written before wake, read after it
  std::vector<std::unique_ptr<Member>> members_;
};

Room::Room(std::vector<int> judge_cores, std::vector<int> host_cores)
    : crew_(std::make_unique<Crew>(
          host_cores,
          std::max<std::size_t>(64UL << 20, 2 * last_level_bytes(host_cores.front())))) {
  pin_to(judge_cores);
  go_first();
  flush();  // the buffer's pages come into being now, not inside a round
}

Room::~Room() = default;

void Room::share(const std::function<void(std::size_t, std::size_t)>& fn) {
  const std::size_t parts = crew_->size() + 1;
  crew_->start([&fn, parts](std::size_t member) { fn(member + 1, parts); });
  fn(0, parts);
  crew_->finish();
}

void Room::share_range(std::uint64_t count, std::uint64_t block,
                       const std::function<void(std::uint64_t, std::uint64_t)>& fn) {
  const std::uint64_t blocks = (count + block - 1) / block;
  if (blocks < 8) return fn(0, count);
  share([&](std::size_t part, std::size_t parts) {
    const std::uint64_t begin = std::min(count, blocks * part / parts * block);
    const std::uint64_t end = std::min(count, blocks * (part + 1) / parts * block);
    if (begin < end) fn(begin, end);
  });
}

void Room::flush() {
  crew_->start([this](std::size_t member) { crew_->sweep(member); });
  crew_->finish();
}

}  // namespace swage::judge
