#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/asio/asio.hpp"
#include "common/asio/event.hpp"
#include "common/asio/process.hpp"
#include "sandbox/adapters/control_group.hpp"
#include "sandbox/adapters/frame_socket.hpp"
#include "sandbox/adapters/host.hpp"

namespace swage::sandbox {

/// What one agent's container is made of.
struct AgentContainerSpec {
  std::string name;  ///< of the control group
  std::vector<Mount> mounts;
  std::string working_directory;     ///< inside
  std::vector<std::string> command;  ///< gets the stream to sandboxd as descriptor 3
  std::filesystem::path log;         ///< stderr of bubblewrap and of the command
  std::optional<uid_t> agent_uid;    ///< root only: the command will become this user
  std::uint64_t memory_bytes = 0;    ///< of all its processes together
  std::uint64_t processes = 0;
};

/// A running container and the stream to it; on a machine without bubblewrap a process of the same
/// program, in a pod the pod's other container. Touched on one strand. Call end() and let wait()
/// return before it goes.
class AgentContainer {
 public:
  /// Error: what could not be started.
  static Result<std::unique_ptr<AgentContainer>, std::string> start(asio::any_io_executor strand,
                                                                    const HostFacts& host,
                                                                    const AgentContainerSpec& spec);
  /// The runner that has met us (runner_meeting.hpp) gets its settings. When its stream ends it
  /// goes, and its container with it.
  static std::unique_ptr<AgentContainer> in_pod(asio::any_io_executor strand,
                                                FrameSocket::Socket runner, std::string settings);
  FrameSocket& socket() { return socket_; }
  /// Say when socket() has been read to its end.
  void stream_ended();
  /// Waits for its end by itself or by end(). One waiter. Returns what happened, for people.
  Task<std::string> wait();
  /// Ends every process in it; wait() returns soon after. Where the kernel does not take the
  /// agent's processes along (neither a process namespace nor a control group), the command is
  /// asked to end them by closing its stream, and has one second.
  void end();

 private:
  AgentContainer(asio::any_io_executor strand, std::unique_ptr<ControlGroup> group,
                 std::unique_ptr<Process> process, FrameSocket::Socket socket, bool contained);
  std::unique_ptr<ControlGroup> group_;  // goes after the process: then it is empty
  std::shared_ptr<Process> process_;     // none: the pod's other container
  FrameSocket socket_;
  bool stream_ended_ = false;
  Event ended_;
  bool contained_;  // when the command ends, so does all below it
  asio::steady_timer late_;
};

}  // namespace swage::sandbox
