#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "gpu_pool/judge/api/judge_runner.hpp"

namespace swage::judge {

/// The conversation between the GPU worker and a judge process, over the SOCK_SEQPACKET socket that
/// is descriptor 3 of the judge; one JSON text a packet, descriptors by SCM_RIGHTS.
///
/// 1. worker → judge: SessionBegin with the descriptors [zygote client, bundle, task source], then,
///    if known_task, [facts, initial state], then six for each resident host: control, fate, pidfd,
///    log, page, arena. Bundle, source, facts and state are sealed memory files.
/// 2. judge → worker: any number of `progress`.
/// 3. judge → worker: at most one `facts` [facts, initial state], for a task it had to learn; any
///    number of `keep` [six descriptors], for hosts that may be used again; and then one `verdict`
///    [memory file]. Then the judge exits with 0. A host that was not kept dies.
inline constexpr int kSessionDescriptor = 3;
inline constexpr std::size_t kHostDescriptors = 6;

/// A host that stays from one evaluation to the next.
struct ResidentHost {
  std::string role;  ///< `task`, `eager`, `compile`
  std::int64_t pid = 0;
  std::uint64_t arena_bytes = 0;
};

/// What a judge is told.
struct SessionBegin {
  JudgeRequest request;  ///< task_source and bundle travel as memory files
  std::string scratch;   ///< an empty folder of this evaluation; the worker removes it
  std::vector<int> host_cores;
  std::vector<int> judge_cores;
  std::uint64_t memory_bytes = 0;           ///< address space a candidate may add to the zygote's
  std::string seed;                         ///< 64 hex digits to repeat an evaluation; else empty
  std::vector<std::string> missing_layers;  ///< isolation that this machine lacks
  std::string torch;                        ///< version, for the record
  bool known_task = false;
  std::vector<ResidentHost> residents;
};
std::string encode(const SessionBegin& begin);
Result<SessionBegin, std::string> decode_begin(std::string_view text);

/// What a judge says.
struct SessionNews {
  enum class Kind { progress, facts, keep, verdict } kind = Kind::progress;
  Progress progress;
  ResidentHost host;
};
std::string encode(const SessionNews& news);
Result<SessionNews, std::string> decode_news(std::string_view text);

}  // namespace swage::judge
