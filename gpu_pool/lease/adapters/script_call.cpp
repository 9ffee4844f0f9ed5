#include "gpu_pool/lease/adapters/script_call.hpp"

#include <utility>

#include "common/log/log.hpp"
#include "gpu_pool/lease/adapters/script_sources.hpp"

namespace swage::lease {

LeaseScripts::LeaseScripts()
    : acquire(script_sources::kAcquire),
      cancel(script_sources::kCancel),
      cleared(script_sources::kCleared),
      forget(script_sources::kForget),
      heartbeat(script_sources::kHeartbeat),
      inspect(script_sources::kInspect),
      install(script_sources::kInstall),
      poll(script_sources::kPoll),
      register_gpu(script_sources::kRegister),
      release(script_sources::kRelease),
      renew(script_sources::kRenew),
      requalify(script_sources::kRequalify),
      snapshot(script_sources::kSnapshot),
      sweep(script_sources::kSweep) {}

const LeaseScripts& lease_scripts() {
  static const LeaseScripts kScripts;
  return kScripts;
}

Task<Reply<RedisValue>> ScriptCaller::call(const RedisScript& script, Words words,
                                           TimePoint deadline) {
  auto reply = co_await redis_.script(script, keys_, std::move(words), deadline);
  if (reply && raw_time_from(*reply)) co_return std::move(*reply);
  LeaseErrc code = LeaseErrc::bad_reply;
  if (!reply) {
    switch (reply.error().code) {
      case RedisErrc::unreachable:
        code = LeaseErrc::unreachable;
        break;
      case RedisErrc::unanswered:
        code = LeaseErrc::unanswered;
        break;
      case RedisErrc::refused:
      case RedisErrc::bad_reply:
        log_error("the lease queue's answer makes no sense", {{"what", reply.error().message}});
        break;
    }
  }
  co_return tl::unexpected(code);
}

}  // namespace swage::lease
