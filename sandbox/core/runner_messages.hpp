#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/result.hpp"
#include "sandbox/api/bundle.hpp"

namespace swage::sandbox {

/// sandboxd to runner: run a tool. The name and the arguments have passed validate_tool_call.
struct RunTool {
  std::uint64_t id = 0;
  std::string name;
  std::string arguments_json;
};
/// End the processes of a running call; its result comes with what they printed.
struct EndTool {
  enum class Why { timeout, cancelled } why = Why::timeout;
  std::uint64_t id = 0;
};
/// Read the agent's files that are handed in.
struct CollectFiles {
  std::uint64_t id = 0;
};
using ToRunner = std::variant<RunTool, EndTool, CollectFiles>;

/// The runner has confined itself and waits for calls.
struct RunnerReady {
  bool operator==(const RunnerReady&) const = default;
};
/// It cannot run here.
struct RunnerFailed {
  std::string why;
  bool operator==(const RunnerFailed&) const = default;
};
struct ToolDone {
  std::uint64_t id = 0;
  bool ok = false;
  std::string text;    ///< valid UTF-8, at most kMaxObservation characters
  std::string digest;  ///< work digest after the call
  bool operator==(const ToolDone&) const = default;
};
struct FilesCollected {
  std::uint64_t id = 0;
  std::vector<WorkFile> files;
  std::string problem;  ///< a sentence for the agent when they cannot be handed in
  bool operator==(const FilesCollected&) const = default;
};
using FromRunner = std::variant<RunnerReady, RunnerFailed, ToolDone, FilesCollected>;

/// One message as JSON text. A frame on the socket is its length (4 bytes, little endian) and it.
std::string encode(const ToRunner& message);
std::string encode(const FromRunner& message);

/// Error: what is wrong with it. The runner lives with untrusted code: nothing it says is believed
/// to be well-formed.
Result<ToRunner, std::string> decode_to_runner(std::string_view text);
Result<FromRunner, std::string> decode_from_runner(std::string_view text);

inline constexpr std::size_t kMaxFrame = std::size_t{96} << 20;

}  // namespace swage::sandbox
