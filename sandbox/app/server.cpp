#include "sandbox/app/server.hpp"

#include <algorithm>
#include <cstdio>

#include "common/asio/event.hpp"
#include "common/log/log.hpp"
#include "sandbox/adapters/gxx_compile_service.hpp"
#include "sandbox/adapters/sandbox_service.hpp"
#include "sandbox/app/session.hpp"

namespace swage::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr int kMissing = 69, kNotWritable = 74;
constexpr uid_t kAgentUid = 64006;
constexpr auto kAfterWallClock = std::chrono::seconds(2400);  // so that the last score fits
constexpr auto kShutdownGrace = std::chrono::milliseconds(500);

int fail(int code, const std::string& why) {
  std::fprintf(stderr, "swage-sandboxd: %s\n", why.c_str());
  return code;
}

/// Binds to one rollout and runs its one session. Thread: the strand.
class Handler final : public SandboxHandler {
 public:
  Handler(SessionWorld world, StopSource& stop) : world_(std::move(world)), stop_(stop) {}

  Result<SandboxFacts, std::string> hello(const RolloutRef& rollout) override {
    if (rollout.rollout_id.empty()) return tl::unexpected(std::string("no rollout is named"));
    if (!bound_) bound_ = rollout;
    if (*bound_ != rollout)
      return tl::unexpected("this sandbox belongs to rollout " + bound_->rollout_id + ", attempt " +
                            std::to_string(bound_->attempt));
    return SandboxFacts{world_.config.pod_uid, world_.host.full() ? "full" : "reduced",
                        world_.host.missing};
  }

  Task<> session(SessionLink& link, StopSource& gone) override {
    const char* refusal = !bound_ ? "say Hello first" : used_ ? "one session a sandbox" : nullptr;
    if (refusal != nullptr) {
      link.end({SessionEnd::Kind::refused, refusal});
      co_return;
    }
    used_ = true;
    StopSource over;  // the worker goes, the sandbox stops, or its time is up: the first counts
    const auto from_worker = gone.on_stop([&over] { over.request(StopReason::requested); });
    const auto from_us = stop_.on_stop([&over] { over.request(StopReason::requested); });
    if (gone.stopping() || stop_.stopping()) over.request(StopReason::requested);
    asio::steady_timer life(world_.strand,
                            world_.clock.now() + world_.config.wall_clock + kAfterWallClock);
    const auto time_up = std::make_shared<bool>(true);
    life.async_wait(
        [&over, alive = std::weak_ptr<bool>(time_up)](const boost::system::error_code& cancelled) {
          if (!cancelled && alive.lock()) over.request(StopReason::deadline);
        });
    Session session(world_, link);
    const auto end = co_await session.run(over);
    log_info("session ended", {{"rollout_id", bound_->rollout_id}, {"why", end.why}});
  }

 private:
  SessionWorld world_;
  StopSource& stop_;
  std::optional<RolloutRef> bound_;
  bool used_ = false;
};

/// Makes the root directory empty and ours.
Result<void, std::string> prepare_root(const fs::path& root) {
  std::error_code code;
  fs::remove_all(root / "session", code);
  fs::remove_all(root / "scratch", code);
  fs::create_directories(root / "scratch", code);
  if (!code) fs::permissions(root, fs::perms::owner_all, code);
  if (code) return tl::unexpected("cannot make " + root.string() + ": " + code.message());
  return {};
}

CompileSettings compile_settings(const SandboxConfig& config) {
  CompileSettings out;
  out.toolchain = config.toolchain;
  out.cache_directory = config.object_cache_directory;
  out.header_directory = config.header_cache_directory;
  out.scratch_directory = config.root_directory / "scratch";
  out.compile_uid = config.compile_uid.value_or(kCompileUid);
  out.allow_reduced = config.allow_reduced;
  out.slots = config.compile_slots;
  return out;
}

void remove_stale_socket(const std::string& listen) {
  constexpr std::string_view kUnix = "unix:";
  std::error_code ignored;
  if (listen.starts_with(kUnix)) fs::remove(listen.substr(kUnix.size()), ignored);
}

}  // namespace

Task<int> serve(asio::any_io_executor strand, SandboxConfig config, fs::path program,
                StopSource& stop) {
  const auto host = probe_host(config.bubblewrap);
  if (host.root && !config.agent_uid) config.agent_uid = kAgentUid;
  if (!host.containers && !config.allow_reduced) co_return fail(kMissing, host.container_problem);
  if (!host.full()) {
    std::string missing;
    for (const auto& layer : host.missing) missing += (missing.empty() ? "" : ", ") + layer;
    log_warning("isolation is reduced", {{"missing", missing}});
  }
  if (const auto ready = prepare_root(config.root_directory); !ready)
    co_return fail(kNotWritable, ready.error());
  const auto clock = make_steady_clock();
  const auto compiler = make_gxx_compile_service(strand, *clock, host, compile_settings(config));
  Handler handler({strand, *clock, config, host, *compiler, std::move(program)}, stop);
  StopSource gate_stop;
  Gate gate(strand, gate_stop);
  const auto service =
      make_sandbox_service({strand, gate, ""}, config.sandbox_token_sha256, handler);
  remove_stale_socket(config.process.listen);
  auto server = RpcServer::start(config.process.listen, {service.get()});
  if (!server) co_return fail(kMissing, server.error().message);
  if (const auto wrote = write_ready_file(config.process.ready_file, 0); !wrote)
    co_return fail(kNotWritable, wrote.error().message);
  log_info("serving",
           {{"listen", config.process.listen}, {"isolation", host.full() ? "full" : "reduced"}});
  Event stopped(strand);
  while (!stop.stopping()) co_await stopped.wait(stop);
  co_await (*server)->shut_down(kShutdownGrace);
  co_await gate.join();
  co_return 0;
}

}  // namespace swage::sandbox
