#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "swage/v1/sandbox.grpc.pb.h"

namespace swage::sandbox {

/// A directory of one test, gone with it. Its path is short: sockets lie in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline constexpr const char* kToken = "a token of this test";

/// A real swage-sandboxd of its own, and a rollout worker's end of the conversation with it.
class SandboxUnderTest {
 public:
  /// change: of the configuration before it is written.
  explicit SandboxUnderTest(const std::function<void(nlohmann::json&)>& change = {});
  ~SandboxUnderTest();
  SandboxUnderTest(const SandboxUnderTest&) = delete;
  SandboxUnderTest& operator=(const SandboxUnderTest&) = delete;

  grpc::Status hello(const std::string& rollout, v1::HelloResponse* reply = nullptr,
                     const std::string& token = kToken);
  /// Opens the session and lays a task; false when the sandbox refuses: then finish() says why.
  bool lay(bool profile_scores = false, const std::function<void(v1::Task&)>& change = {});
  /// hello + lay, checked.
  void begin(bool profile_scores = false);

  using Judge = std::function<v1::EvaluationAnswer(const v1::EvaluationAsk&)>;
  /// One tool call to its result. Asks that come meanwhile go to `judge`.
  v1::ToolResult call(const std::string& name, const nlohmann::json& arguments,
                      const Judge& judge = {});
  v1::ToolResult bash(const std::string& command, int timeout_ms = 60'000, const Judge& judge = {});
  v1::WorkPacked pack();
  void send(const v1::SessionDown& message);
  bool read(v1::SessionUp* message);
  /// Closes our side and returns how the call ended.
  grpc::Status finish();

  pid_t pid() const { return pid_; }
  /// The runner's process as the machine sees it.
  pid_t runner_pid() const;
  const std::filesystem::path& directory() const { return directory_.path(); }
  std::string log() const;
  /// SIGTERM, and the wait status.
  int stop();

 private:
  TemporaryDirectory directory_;
  pid_t pid_ = -1;
  std::string work_ = "/workspace/task";  ///< as the agent sees it
  std::unique_ptr<v1::Sandbox::Stub> stub_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::SessionDown, v1::SessionUp>> stream_;
  std::uint64_t next_id_ = 1;
  std::vector<v1::SessionUp> unread_;
};

/// A verdict that passes five checks.
v1::EvaluationAnswer passing_answer(const v1::EvaluationAsk& ask);

/// Whether a process lives.
bool alive(pid_t pid);
/// Waits until `done` holds; false after ten seconds.
bool eventually(const std::function<bool()>& done);

}  // namespace swage::sandbox
