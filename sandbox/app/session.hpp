#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/asio/clock.hpp"
#include "common/asio/event.hpp"
#include "common/asio/gate.hpp"
#include "sandbox/adapters/agent_container.hpp"
#include "sandbox/adapters/agent_desk.hpp"
#include "sandbox/api/compile_service.hpp"
#include "sandbox/api/session_link.hpp"
#include "sandbox/app/agent_world.hpp"
#include "sandbox/app/config.hpp"
#include "sandbox/core/runner_messages.hpp"
#include "sandbox/core/tool_clock.hpp"

namespace swage::sandbox {

/// What every session of a sandboxd shares. Outlives it.
struct SessionWorld {
  asio::any_io_executor strand;
  Clock& clock;
  const SandboxConfig& config;
  const HostFacts& host;
  CompileService& compiler;
  std::filesystem::path program;          ///< this binary, for the runner
  FrameSocket::Socket* runner = nullptr;  ///< that of the pod's other container; null: start one
};

/// One trajectory's time in the sandbox:
///  1. LayWork lays the work directory and starts the container.
///  2. Tool calls and PackWork run one after the other, in order; CancelTool ends one early.
///  3. Meanwhile utils/ ask at the desk: they are compiled for, or asked for upward.
///  4. When the worker closes its side, goes, or the container dies, everything ends: every process
///     of the agent too.
/// Thread: the strand. Life: destroy it after run() has returned.
class Session {
 public:
  Session(const SessionWorld& world, SessionLink& link);

  /// Returns when the session is over and nothing of it is left. `gone`: the worker went or the
  /// sandbox stops.
  Task<SessionEnd> run(StopSource& gone);

 private:
  struct Work {
    SessionDown what;  // ToolCall or PackWork
    bool cancelled = false;
  };

  struct Packed {
    PackedBundle bundle;
    std::string digest;
  };

  // Tasks of the session.
  Task<> read_link();
  Task<> write_link();
  Task<> read_runner();
  Task<> watch_container();
  Task<> run_desk();
  Task<> do_work();

  Result<void, std::string> handle(SessionDown message);
  Result<void, std::string> lay(const LayWork& work);
  Result<void, std::string> start_container();
  void cancel(std::uint64_t id);
  Task<> run_tool(ToolCall call);
  Task<> wait_for_tool(std::uint64_t id, Duration limit);
  Task<> pack(std::uint64_t id);
  Task<FilesCollected> collect();
  Task<Result<CompileOutcome, CompileError>> compile(std::vector<WorkFile> files);
  Task<Result<Packed, CompileError>> make_bundle();
  Task<Report> answer_desk(DeskRequest request);
  Task<Report> compile_for_agent();
  Task<Report> evaluate(EvaluationMode mode);
  Task<Report> evaluate_alone(EvaluationMode mode);
  Task<EvaluationAnswer> ask(EvaluationMode mode, PackedBundle bundle, std::string digest);
  void finish(SessionEnd end);

  const SessionWorld& world_;
  SessionLink& link_;
  StopSource stop_;
  std::optional<SessionEnd> end_;
  bool laid_ = false, ready_ = false, profile_scores_ = false;
  std::unique_ptr<AgentWorld> agent_;
  std::unique_ptr<AgentContainer> container_;
  std::unique_ptr<AgentDesk> desk_;

  Mailbox<SessionUp> outbox_;
  Mailbox<std::shared_ptr<Work>> work_;
  std::map<std::uint64_t, std::shared_ptr<Work>> queued_;
  std::string digest_;  // after the last call

  // The call that runs.
  std::uint64_t current_ = 0;
  std::shared_ptr<ToolClock> tool_clock_;
  std::optional<ToolDone> tool_done_;
  CompileFigures figures_;
  asio::steady_timer tick_;  // wakes wait_for_tool

  // Answers that tasks wait for.
  Event answered_;
  std::map<std::uint64_t, FilesCollected> collected_;
  std::map<std::uint64_t, EvaluationAnswer> answers_;
  std::uint64_t next_id_ = 1;
  bool evaluating_ = false;
  std::optional<std::pair<std::string, CompileOutcome>> last_compile_;  // by input digest

  Gate tasks_;
};

}  // namespace swage::sandbox
