#include "gpu_pool/lease/adapters/script_call.hpp"

#include <utility>

#include "common/log/log.hpp"
#include "gpu_pool/lease/adapters/script_sources.hpp"

namespace swage::lease {

LeaseScripts::LeaseScripts()
    : acquire(script_sources::k_acquire),
      cancel(script_sources::k_cancel),
      cleared(script_sources::k_cleared),
      forget(script_sources::k_forget),
      heartbeat(script_sources::k_heartbeat),
      inspect(script_sources::k_inspect),
      install(script_sources::k_install),
      poll(script_sources::k_poll),
      register_gpu(script_sources::k_register),
      release(script_sources::k_release),
      renew(script_sources::k_renew),
      requalify(script_sources::k_requalify),
      snapshot(script_sources::k_snapshot),
      sweep(script_sources::k_sweep) {}

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
