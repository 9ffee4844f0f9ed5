#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/asio/task.hpp"
#include "sandbox/api/bundle.hpp"
#include "sandbox/api/compile_types.hpp"
#include "sandbox/api/evaluation.hpp"

namespace swage::sandbox {

// What a rollout worker says to the sandbox of its rollout (proto/swage/v1/sandbox.proto).
struct LayWork {
  std::string task_id, source, digest, device_kind;
  bool profile_scores = false;
};
struct ToolCall {
  std::uint64_t id = 0;
  std::string name, arguments_json;
};
struct EvaluationAnswer {
  std::uint64_t id = 0;
  std::optional<Evaluation> evaluation;
  std::string error;  ///< when there is none
};
struct PackWork {
  std::uint64_t id = 0;
};
struct CancelTool {
  std::uint64_t id = 0;
};
using SessionDown = std::variant<LayWork, ToolCall, EvaluationAnswer, PackWork, CancelTool>;

/// What a bundle holds (swage.v1.Bundle).
struct PackedBundle {
  std::string id;
  std::vector<WorkFile> files;
  std::string library;
  std::optional<CompileRecord> compile;
  std::string compile_error;
};

// What the sandbox says to it.
struct WorkLaid {
  std::string work_digest, work_directory;
};
/// Compilations during one tool call.
struct CompileFigures {
  std::uint32_t count = 0, units = 0, cache_hits = 0;
  std::chrono::milliseconds wall{0};
};
struct ToolResult {
  std::uint64_t id = 0;
  bool schema_valid = false, ok = false;
  std::string text, work_digest;
  std::chrono::milliseconds wall{0};
  CompileFigures compile;
};
struct EvaluationAsk {
  std::uint64_t id = 0;
  EvaluationMode mode = EvaluationMode::verify;
  PackedBundle bundle;
  std::string work_digest;
};
struct WorkPacked {
  std::uint64_t id = 0;
  PackedBundle bundle;
  std::string work_digest;
};
using SessionUp = std::variant<WorkLaid, ToolResult, EvaluationAsk, WorkPacked>;

/// Why a session is over.
struct SessionEnd {
  enum class Kind {
    done,       ///< the worker closed its side
    bad_order,  ///< the worker broke the protocol
    refused,    ///< the work directory cannot be laid here
    lost,       ///< the agent's container is gone
    stopping,   ///< the sandbox goes away
  } kind = Kind::done;
  std::string why;
};

/// The stream to the rollout worker. One reader and one writer at a time. Thread: one strand.
class SessionLink {
 public:
  virtual ~SessionLink() = default;
  /// Nothing: the worker closed its side or is gone.
  virtual Task<std::optional<SessionDown>> read() = 0;
  /// False: the worker is gone.
  virtual Task<bool> write(SessionUp message) = 0;
  /// Ends the stream; a pending read returns nothing. Call it once, last.
  virtual void end(const SessionEnd& end) = 0;
};

}  // namespace swage::sandbox
