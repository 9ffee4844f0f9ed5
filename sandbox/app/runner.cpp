#include "sandbox/app/runner.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "common/asio/gate.hpp"
#include "common/base/digest.hpp"
#include "common/base/json_text.hpp"
#include "sandbox/adapters/frame_socket.hpp"
#include "sandbox/adapters/rooted_files.hpp"
#include "sandbox/adapters/shell_jobs.hpp"
#include "sandbox/app/file_tools.hpp"
#include "sandbox/app/shell_tools.hpp"

namespace swage::sandbox {
namespace {

using nlohmann::json;

std::string state_directory(const AgentRoots& roots) { return roots.temporary + "/.swage"; }

std::map<std::string, std::string> agent_environment(const RunnerSettings& settings) {
  return {{"PATH", settings.tool_path},
          {"HOME", settings.roots.temporary},
          {"TMPDIR", settings.roots.temporary},
          {"USER", "agent"},
          {"LANG", "C.UTF-8"},
          {"TERM", "dumb"},
          {"PYTHONDONTWRITEBYTECODE", "1"},
          {"SWAGE_SANDBOX_SOCKET", settings.sandbox_socket}};
}

/// Executes what sandboxd sends. Everything on one strand of one thread.
class Runner {
 public:
  Runner(const asio::any_io_executor& strand, FrameSocket& socket, const RunnerSettings& settings)
      : socket_(socket),
        files_(settings.roots),
        file_tools_(files_),
        jobs_(strand),
        shell_tools_(
            jobs_, {settings.roots, state_directory(settings.roots), agent_environment(settings)}),
        calls_(strand, stop_) {}

  Task<> run() {
    socket_.send(encode(FromRunner(RunnerReady{})));
    while (const auto frame = co_await socket_.read()) {
      const auto message = decode_to_runner(*frame);
      if (!message) break;  // only a bug of ours makes one
      handle(*message);
    }
    for (const auto& [id, control] : controls_) control->stop.request(StopReason::requested);
    co_await calls_.join();
    jobs_.stop();
  }

 private:
  void handle(const ToRunner& message) {
    if (const auto* call = std::get_if<RunTool>(&message)) {
      const auto control = std::make_shared<CallControl>();
      controls_[call->id] = control;
      std::ignore = calls_.spawn(call->name, run_call(*call, control));
    } else if (const auto* end = std::get_if<EndTool>(&message)) {
      const auto found = controls_.find(end->id);
      if (found == controls_.end()) return;  // it has just ended by itself
      found->second->why = end->why;
      found->second->stop.request(StopReason::requested);
    } else if (const auto* collect = std::get_if<CollectFiles>(&message)) {
      FilesCollected answer{collect->id, {}, {}};
      auto files = files_.collect();
      if (files) answer.files = std::move(*files);
      if (!files) answer.problem = files.error();
      socket_.send(encode(FromRunner(std::move(answer))));
    }
  }

  Task<> run_call(RunTool call, std::shared_ptr<CallControl> control) {
    ToolAnswer answer;
    try {
      answer = co_await dispatch(call.name, json::parse(call.arguments_json), control);
    } catch (const std::exception& e) {
      answer = {false, "The tool failed (" + std::string(e.what()) + "); try another way."};
    }
    controls_.erase(call.id);
    socket_.send(encode(FromRunner(ToolDone{call.id, answer.ok, answer.text, digest()})));
  }

  Task<ToolAnswer> dispatch(std::string name, json arguments,
                            std::shared_ptr<CallControl> control) {
    if (name == "Bash") co_return co_await shell_tools_.bash(std::move(arguments), control);
    if (name == "Grep") {
      if (auto refusal = refuse_path(arguments)) co_return std::move(*refusal);
      co_return co_await shell_tools_.grep(std::move(arguments), control);
    }
    if (name == "BashOutput") co_return shell_tools_.bash_output(arguments);
    if (name == "KillBash") co_return shell_tools_.kill_bash(arguments);
    if (name == "Read") co_return file_tools_.read(arguments);
    if (name == "Write") co_return file_tools_.write(arguments);
    if (name == "Edit") co_return file_tools_.edit(arguments);
    if (name == "MultiEdit") co_return file_tools_.multi_edit(arguments);
    if (name == "Glob") co_return file_tools_.glob(arguments);
    if (name == "TodoWrite") co_return file_tools_.todo_write(arguments);
    co_return ToolAnswer{false, "There is no such tool."};
  }

  std::optional<ToolAnswer> refuse_path(const json& arguments) const {
    if (!arguments.contains("path")) return std::nullopt;
    const auto path = resolve_path(arguments.at("path").get<std::string>(), files_.roots());
    if (!path) return ToolAnswer{false, path.error()};
    if (const auto ok = files_.check_reachable(*path); !ok) return ToolAnswer{false, ok.error()};
    return std::nullopt;
  }

  /// What cannot be handed in has a digest too: it changes when the reason does.
  std::string digest() const {
    auto files = files_.collect();
    return files ? work_digest(std::move(*files)) : sha256_hex(files.error());
  }

  FrameSocket& socket_;
  RootedFiles files_;
  FileTools file_tools_;
  ShellJobs jobs_;
  ShellTools shell_tools_;
  std::map<std::uint64_t, std::shared_ptr<CallControl>> controls_;
  StopSource stop_;
  Gate calls_;
};

Task<> serve(asio::any_io_executor strand, FrameSocket& socket, RunnerSettings settings) {
  Runner runner(strand, socket, settings);
  co_await runner.run();
}

Task<> report_failure(FrameSocket& socket, std::string why) {
  socket.send(encode(FromRunner(RunnerFailed{std::move(why)})));
  co_await socket.flush();
}

}  // namespace

std::string to_json_text(const RunnerSettings& settings) {
  const auto& limits = settings.limits;
  return json_text(json{{"socket", settings.socket},
                        {"uid", settings.uid ? json(*settings.uid) : json()},
                        {"work", settings.roots.work},
                        {"temporary", settings.roots.temporary},
                        {"sandbox_socket", settings.sandbox_socket},
                        {"tool_path", settings.tool_path},
                        {"data_bytes", limits.data_bytes},
                        {"file_bytes", limits.file_bytes},
                        {"processes", limits.processes},
                        {"cpu_seconds", limits.cpu_seconds},
                        {"open_files", limits.open_files}});
}

Result<RunnerSettings, std::string> runner_settings_from(const std::string& text) {
  try {
    const auto value = json::parse(text);
    RunnerSettings out;
    value.at("socket").get_to(out.socket);
    if (!value.at("uid").is_null()) out.uid = value.at("uid").get<uid_t>();
    value.at("work").get_to(out.roots.work);
    value.at("temporary").get_to(out.roots.temporary);
    value.at("sandbox_socket").get_to(out.sandbox_socket);
    value.at("tool_path").get_to(out.tool_path);
    value.at("data_bytes").get_to(out.limits.data_bytes);
    value.at("file_bytes").get_to(out.limits.file_bytes);
    value.at("processes").get_to(out.limits.processes);
    value.at("cpu_seconds").get_to(out.limits.cpu_seconds);
    value.at("open_files").get_to(out.limits.open_files);
    return out;
  } catch (const std::exception& e) {
    return tl::unexpected(std::string(e.what()));
  }
}

int run_runner(const RunnerSettings& settings) {
  std::signal(SIGPIPE, SIG_IGN);
  ::umask(022);
  std::vector<std::string> owned{settings.roots.work, settings.roots.temporary};
  if (::getpid() == 1) owned.emplace_back("/dev/shm");  // else it is the machine's
  auto confined = confine_to_agent(settings.uid, settings.limits, owned);
  for (const auto& directory : {settings.roots.work + "/kernels", state_directory(settings.roots)})
    if (confined && ::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST)
      confined = tl::unexpected("making " + directory + ": " + std::strerror(errno));
  asio::io_context context(1);
  const asio::any_io_executor strand = asio::make_strand(context);
  FrameSocket socket(FrameSocket::Socket(strand, asio::local::stream_protocol(), settings.socket),
                     kMaxFrame);
  std::exception_ptr failure;
  asio::co_spawn(
      strand, confined ? serve(strand, socket, settings) : report_failure(socket, confined.error()),
      [&failure](const std::exception_ptr& e) { failure = e; });
  context.run();
  return confined && !failure ? 0 : 1;
}

}  // namespace swage::sandbox
