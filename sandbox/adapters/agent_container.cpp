#include "sandbox/adapters/agent_container.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "sandbox/core/container.hpp"
#include "sandbox/core/runner_messages.hpp"

namespace swage::sandbox {

Result<std::unique_ptr<AgentContainer>, std::string> AgentContainer::start(
    asio::any_io_executor strand, const HostFacts& host, const AgentContainerSpec& spec) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return tl::unexpected(std::string("no socket for the runner: ") + std::strerror(errno));
  FrameSocket::Socket ours(strand, asio::local::stream_protocol(), ends[0]);

  ContainerSpec container;
  container.bwrap = host.bwrap;
  container.mounts = spec.mounts;
  container.working_directory = spec.working_directory;
  container.command = spec.command;
  container.user_namespace = !host.root;
  container.inner_uid = spec.agent_uid.value_or(::geteuid());
  container.may_switch_user = host.root && spec.agent_uid.has_value();
  container.first_process = true;

  auto group = std::make_unique<ControlGroup>(host.cgroup_parents, spec.name, spec.memory_bytes,
                                              spec.processes);
  const bool contained = host.containers || group->active();
  ProcessSpec process_spec;
  process_spec.argv =
      group->wrap(host.containers ? bwrap_argv(container, host.system) : spec.command);
  process_spec.env = {{"PATH", "/usr/bin:/bin"}, {"LANG", "C.UTF-8"}};
  process_spec.log = spec.log;
  process_spec.descriptors = {{3, ends[1]}};
  auto process = Process::start(strand, process_spec);
  ::close(ends[1]);
  if (!process) return tl::unexpected(process.error().message);
  return std::unique_ptr<AgentContainer>(new AgentContainer(
      strand, std::move(group), std::move(*process), std::move(ours), contained));
}

AgentContainer::AgentContainer(asio::any_io_executor strand, std::unique_ptr<ControlGroup> group,
                               std::unique_ptr<Process> process, FrameSocket::Socket socket,
                               bool contained)
    : group_(std::move(group)),
      process_(std::move(process)),
      socket_(std::move(socket), kMaxFrame),
      ended_(strand),
      contained_(contained),
      late_(std::move(strand)) {}

std::unique_ptr<AgentContainer> AgentContainer::in_pod(asio::any_io_executor strand,
                                                       FrameSocket::Socket runner,
                                                       std::string settings) {
  std::unique_ptr<AgentContainer> out(
      new AgentContainer(std::move(strand), nullptr, nullptr, std::move(runner), true));
  out->socket_.send(std::move(settings));
  return out;
}

void AgentContainer::stream_ended() {
  stream_ended_ = true;
  ended_.notify();
}

Task<std::string> AgentContainer::wait() {
  if (!process_) {
    StopSource never;
    while (!stream_ended_) co_await ended_.wait(never);
    co_return std::string("its stream ended");
  }
  const int status = co_await process_->wait();
  late_.cancel();
  co_return describe_status(status);
}

void AgentContainer::end() {
  if (!process_) {
    socket_.close();
    stream_ended();
    return;
  }
  if (!contained_) {
    socket_.close();
    late_.expires_after(std::chrono::seconds(1));
    late_.async_wait(
        [process = std::weak_ptr<Process>(process_)](const boost::system::error_code& cancelled) {
          if (const auto still = process.lock(); still && !cancelled) still->signal(SIGKILL, true);
        });
    return;
  }
  process_->signal(SIGKILL, true);
  group_->kill();
}

}  // namespace swage::sandbox
