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
#include "gpu_pool/judge/adapters/device.hpp"
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
  bool memory_full = false;  ///< died, and had used nine tenths of its memory limit
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
  SharedMemory page;      ///< empty until hello
  DeviceMemory arena;     ///< empty until hello
  Descriptor arena_file;  ///< of a host that another judge made: its arena, not mapped yet
  std::uint64_t arena_bytes = 0;
};

/// One model host, seen from the judge. Once it has been armed it is stopped whenever it is not
/// carrying out a call or a control packet, or waiting for the ring (wake()). The destructor kills
/// it unless release() was called. Thread: one.
class Host {
 public:
  using Milliseconds = std::chrono::milliseconds;

  /// `device` is where its kernels run; it outlives the host.
  Host(HostParts parts, Device& device);
  Host(Host&&) noexcept = default;
  Host& operator=(Host&&) = delete;
  Host(const Host&) = delete;
  ~Host();

  Role role() const { return parts_.role; }
  pid_t pid() const { return parts_.pid; }
  /// Addresses on the device.
  std::span<std::byte> arena() const { return parts_.arena.bytes(); }
  /// The memory that it may fill, which tells a death by memory from another; 0: no limit. An
  /// allocation that fails kills a program that does not look, by a signal like any wild pointer's.
  void set_memory_limit(std::uint64_t bytes) { memory_limit_ = bytes; }

  /// Maps the arena of a host that another judge made. False: it cannot be used.
  bool adopt();
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
    double window_us = 0;  ///< from the ring until the result is complete (Device says when)
    double waited_us =
        0;  ///< in which its threads, or the judge that clocks it, waited for a processor
    CallOutputs outputs;
  };
  /// Where hosts wait for the ring running: lets this one go on, and returns when it has a
  /// processor. False: it has ended. Needed only before something that is to happen between that
  /// and the call; call() does it too.
  bool wake();
  /// Undoes wake() when no call follows.
  Result<void, HostFailure> rest();
  /// One call: rings, waits for `done`, closes the window, stops the host.
  /// `ghost`: the candidate's library does nothing this time.
  Result<Call, HostFailure> call(Operation operation, std::uint64_t input_bytes, Milliseconds limit,
                                 bool ghost = false);

  /// Off in tests: a call then ends when the host says so, and its threads run on while the judge
  /// reads.
  void end_calls_by_standstill(bool yes) { by_standstill_ = yes; }

  /// True while the process runs.
  bool alive() const;
  void kill();
  /// Kills it and waits until it is gone. False: it is still there after `limit`.
  bool end(Milliseconds limit);
  /// The end of what it has written to stdout and stderr, raw.
  std::string log() const;
  /// Gives the parts away without killing the host.
  HostParts release();

 private:
  bool resume();
  Result<void, HostFailure> stop(SteadyTime deadline);
  Result<void, HostFailure> wait_done(std::uint32_t ring, SteadyTime deadline);
  Result<void, HostFailure> spin_until_done(std::uint32_t ring, SteadyTime deadline);
  void sample(CallOutputs& outputs);
  HostFailure death();
  CallPage& page() { return *reinterpret_cast<CallPage*>(parts_.page.bytes().data()); }

  HostParts parts_;
  Device* device_;
  ThreadWatch threads_;
  bool awake_ = false;             // running though no call is under way
  std::uint64_t sample_seed_ = 0;  // nobody else's
  bool armed_ = false;
  bool by_standstill_ = true;
  std::uint64_t memory_limit_ = 0;
};

}  // namespace swage::judge
