#pragma once

/// The Lua scripts of gpu_pool/lease/scripts, each with the prelude in front; made at build time.
namespace swage::lease::script_sources {

extern const char* const k_acquire;
extern const char* const k_cancel;
extern const char* const k_cleared;
extern const char* const k_forget;
extern const char* const k_heartbeat;
extern const char* const k_inspect;
extern const char* const k_install;
extern const char* const k_poll;
extern const char* const k_register;
extern const char* const k_release;
extern const char* const k_renew;
extern const char* const k_requalify;
extern const char* const k_snapshot;
extern const char* const k_sweep;

}  // namespace swage::lease::script_sources
