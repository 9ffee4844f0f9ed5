#pragma once

/// The Lua scripts of gpu_pool/lease/scripts, each with the prelude in front; made at build time.
namespace swage::lease::script_sources {

extern const char* const kAcquire;
extern const char* const kCancel;
extern const char* const kCleared;
extern const char* const kForget;
extern const char* const kHeartbeat;
extern const char* const kInspect;
extern const char* const kInstall;
extern const char* const kPoll;
extern const char* const kRegister;
extern const char* const kRelease;
extern const char* const kRenew;
extern const char* const kRequalify;
extern const char* const kSnapshot;
extern const char* const kSweep;

}  // namespace swage::lease::script_sources
