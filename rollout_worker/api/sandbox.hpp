#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"
#include "common/base/result.hpp"
#include "rollout_worker/api/evaluation.hpp"
#include "rollout_worker/api/rollout.hpp"

namespace swage::rollout_worker {

/// A tool call as the policy wrote it.
struct ToolCall {
  std::uint64_t id = 0;  ///< unique in the session, > 0
  std::string name;
  std::string arguments;  ///< JSON object
};

struct ToolOutcome {
  std::uint64_t id = 0;
  bool schema_valid = false;  ///< name and arguments agreed with the schema
  bool ok = false;            ///< the tool did what was asked
  std::string text;           ///< what the policy is shown
  std::string work_digest;    ///< of the agent's files afterwards
  std::uint32_t wall_ms = 0;
  std::uint32_t compile_count = 0;
  std::uint32_t compile_units = 0;
  std::uint32_t compile_cache_hits = 0;
  std::uint32_t compile_ms = 0;
};

struct WorkLaid {
  std::string work_digest;
  std::string directory;  ///< as the agent sees it
};

/// The agent's verification or profiling command wants an answer.
struct EvaluationAsk {
  std::uint64_t id = 0;
  EvaluationMode mode = EvaluationMode::verify;
  PackedWork work;
};

struct WorkPacked {
  std::uint64_t id = 0;
  PackedWork work;
};

/// What a sandbox says.
using SandboxEvent = std::variant<WorkLaid, ToolOutcome, EvaluationAsk, WorkPacked>;

/// Answers an EvaluationAsk: a verdict, or a sentence why there is none.
struct AskAnswer {
  std::uint64_t id = 0;
  std::optional<Judgement> judgement;
  std::string error;
};
struct PackOrder {
  std::uint64_t id = 0;  ///< shared with ToolCall's ids
};
struct CancelTool {
  std::uint64_t id = 0;
};

/// What a sandbox is told.
using SandboxOrder = std::variant<ToolCall, AskAnswer, PackOrder, CancelTool>;

struct SandboxIdentity {
  std::string isolation;             ///< full or reduced
  std::vector<std::string> missing;  ///< isolation layers, by name
};

enum class SandboxErrc {
  lost,       ///< nobody answers, or the stream broke
  wrong_pod,  ///< another pod answers at this address, or it is bound to another rollout
};
constexpr FailureKind kind_of(SandboxErrc) { return FailureKind::give_up; }

/// One rollout's sandbox. Thread: one strand. close() must have returned before it goes.
class SandboxSession {
 public:
  virtual ~SandboxSession() = default;
  /// Hears every event in order, on the session's strand; nothing means that the stream is over
  /// (last call).
  using Listener = std::function<void(std::optional<SandboxEvent>)>;

  /// Compares the pod, opens the stream and asks for the work directory (WorkLaid follows). Await
  /// it at most once.
  virtual Task<Result<SandboxIdentity, SandboxErrc>> open(Listener listener, StopSource& stop) = 0;
  /// Queues an order; they arrive in this order. Silently dropped once the stream is over.
  virtual void send(SandboxOrder order) = 0;
  /// Ends the stream, and with it every process of the agent. The listener hears nothing more.
  virtual Task<> close() = 0;
};

/// Thread: one strand. Life: outlives its sessions.
class SandboxConnector {
 public:
  virtual ~SandboxConnector() = default;
  virtual std::unique_ptr<SandboxSession> connect(const Assignment& assignment) = 0;
};

}  // namespace swage::rollout_worker
