#pragma once

#include <sys/types.h>

#include <chrono>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/descriptor.hpp"
#include "common/base/result.hpp"
#include "gpu_pool/judge/adapters/control_channel.hpp"
#include "gpu_pool/judge/adapters/shared_memory.hpp"
#include "gpu_pool/judge/adapters/thread_watch.hpp"
#include "gpu_pool/judge/core/call_page.hpp"

namespace swage::judge {

/// What a host is for; the names are those of swage_model_host/host.py.
enum class Role { task, eager, compile, candidate, twin, reference, reader };
std::string_view name_of(Role role);

/// Why a host did not do what it was told.
struct HostFailure {
  enum class Kind {
    died,       ///< the process ended: wait_status
    timed_out,  ///< no answer in time; the host still runs or is stopped
    failed,     ///< it says so itself: stage, category, message
    protocol,   ///< its answer is not what the protocol allows: message
  } kind = Kind::protocol;
  int wait_status = 0;
  bool memory_full = false;  ///< died, and its address space was at the limit
  std::string stage;         ///< the operation that failed
  std::string category;      ///< exception, memory, metadata, policy, task
  std::string message;       ///< untrusted text
};

/// Everything that makes up a running host, as it is handed from process to process.
struct HostParts {
  Role role = Role::eager;
  pid_t pid = 0;
  Descriptor control;
  Descriptor fate;
  Descriptor pidfd;
  Descriptor log;
  SharedMemory page;   ///< empty until hello
  SharedMemory arena;  ///< empty until hello
};

/// One model host, seen from the judge. It is stopped whenever it is not carrying out a call or a
/// control packet, once it has been armed. The destructor kills it unless release() was called.
/// Thread: one.
class Host {
 public:
  using Milliseconds = std::chrono::milliseconds;

  explicit Host(HostParts parts);
  Host(Host&&) noexcept = default;
  Host& operator=(Host&&) = delete;
  Host(const Host&) = delete;
  ~Host();

  Role role() const { return parts_.role; }
  pid_t pid() const { return parts_.pid; }
  std::span<const std::byte> arena() const { return parts_.arena.bytes(); }
  std::span<std::byte> arena() { return parts_.arena.bytes(); }
  /// The address space it may have, for telling a death by memory from another; 0: no limit.
  void set_memory_limit(std::size_t bytes) { memory_limit_ = bytes; }

  /// First packets of a new host: its birth, then hello with a fresh page and arena. Returns the
  /// isolation layers that the host lacks.
  /// With `poison`, memory of the arena is full of kPoisonByte when it is handed out first.
  Result<std::vector<std::string>, HostFailure> greet(std::size_t arena_bytes, bool poison,
                                                      Milliseconds limit);

  /// Sends a control packet and waits for the answer, whose keys must all be in `keys`.
  Result<nlohmann::json, HostFailure> ask(nlohmann::json message,
                                          const std::vector<int>& descriptors,
                                          std::initializer_list<std::string_view> keys,
                                          Milliseconds limit);
  /// The two halves of ask(), so that several hosts can work at once.
  void send(const nlohmann::json& message, const std::vector<int>& descriptors);
  Result<nlohmann::json, HostFailure> answer(std::string_view operation,
                                             std::initializer_list<std::string_view> keys,
                                             Milliseconds limit);

  /// From control packets to calls, and back.
  Result<void, HostFailure> arm(Milliseconds limit);
  Result<void, HostFailure> park(Milliseconds limit);
  bool armed() const { return armed_; }

  /// What one call took, and what it returned.
  struct Call {
    double window_us = 0;  ///< from just before SIGCONT until every thread stood still again
    double waited_us = 0;  ///< of which its threads waited for a processor
    CallOutputs outputs;
  };
  /// One call: resumes the host, rings, waits for `done`, stops it again.
  Result<Call, HostFailure> call(Operation operation, std::uint64_t input_bytes,
                                 Milliseconds limit);

  /// True while the process runs.
  bool alive() const;
  void kill();
  /// The end of what it has written to stdout and stderr, raw.
  std::string log() const;
  /// Gives the parts away without killing the host.
  HostParts release();

 private:
  bool resume();
  Result<void, HostFailure> stop(SteadyTime deadline);
  Result<void, HostFailure> wait_done(std::uint32_t ring, SteadyTime deadline);
  HostFailure death();
  void sample_memory();
  CallPage& page() { return *reinterpret_cast<CallPage*>(parts_.page.bytes().data()); }

  HostParts parts_;
  ThreadWatch threads_;
  bool armed_ = false;
  std::size_t memory_limit_ = 0;
  std::size_t memory_seen_ = 0;
};

}  // namespace swage::judge
