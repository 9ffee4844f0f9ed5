#include "sandbox/app/session.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/base/digest.hpp"
#include "common/base/files.hpp"
#include "common/log/log.hpp"
#include "sandbox/api/tool_schema.hpp"
#include "sandbox/core/report.hpp"

namespace swage::sandbox {
namespace {

using namespace std::chrono_literals;

constexpr auto kRunnerGrace = 15s;  // from the order to end a call to its result
constexpr auto kOtherTools = 60s;   // tools that have no timeout of their own
constexpr std::size_t kMaxQueued = 64;

std::chrono::milliseconds in_ms(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
}

/// How long a call may run. canonical: the arguments, valid.
Duration limit_of(const std::string& name, const std::string& canonical) {
  if (name != "Bash") return kOtherTools;
  return std::chrono::milliseconds(
      nlohmann::json::parse(canonical).value("timeout", std::int64_t{120'000}));
}

}  // namespace

Session::Session(const SessionWorld& world, SessionLink& link)
    : world_(world),
      link_(link),
      outbox_(world.strand),
      work_(world.strand),
      digest_(work_digest({})),
      tick_(world.strand),
      answered_(world.strand),
      tasks_(world.strand, stop_) {}

void Session::finish(SessionEnd end) {
  if (!end_) end_ = std::move(end);
  stop_.request(StopReason::requested);
}

Task<SessionEnd> Session::run(StopSource& gone) {
  const auto hook =
      gone.on_stop([this] { finish({SessionEnd::Kind::stopping, "the session was cancelled"}); });
  std::ignore = tasks_.spawn("link reader", read_link());
  std::ignore = tasks_.spawn("link writer", write_link());
  std::ignore = tasks_.spawn("work", do_work());
  Event stopped(world_.strand);
  while (!stop_.stopping()) co_await stopped.wait(stop_);
  if (!end_) end_ = SessionEnd{SessionEnd::Kind::lost, "a task of the session failed"};
  if (container_) container_->end();
  tick_.cancel();
  link_.end(*end_);
  co_await tasks_.join();
  desk_.reset();
  container_.reset();
  agent_.reset();
  co_return *end_;
}

Task<> Session::read_link() {
  while (!stop_.stopping()) {
    auto message = co_await link_.read();
    if (!message) {
      finish({SessionEnd::Kind::done, ""});
      co_return;
    }
    if (auto ok = handle(std::move(*message)); !ok)
      finish({SessionEnd::Kind::bad_order, ok.error()});
  }
}

Result<void, std::string> Session::handle(SessionDown message) {
  if (const auto* work = std::get_if<LayWork>(&message)) {
    if (laid_) return tl::unexpected(std::string("the work directory is laid already"));
    laid_ = true;
    if (auto laid = lay(*work); !laid) finish({SessionEnd::Kind::refused, laid.error()});
    return {};
  }
  if (!laid_) return tl::unexpected(std::string("the first message must lay the work directory"));
  if (auto* answer = std::get_if<EvaluationAnswer>(&message)) {
    answers_[answer->id] = std::move(*answer);
    answered_.notify();
    return {};
  }
  if (const auto* end = std::get_if<CancelTool>(&message)) {
    cancel(end->id);
    return {};
  }
  const auto* call = std::get_if<ToolCall>(&message);
  const auto id = call != nullptr ? call->id : std::get<PackWork>(message).id;
  if (id == 0 || queued_.contains(id)) return tl::unexpected(std::string("an id was used twice"));
  if (queued_.size() >= kMaxQueued) return tl::unexpected(std::string("too many calls at once"));
  const auto work = std::make_shared<Work>(Work{std::move(message)});
  queued_[id] = work;
  work_.push(work);
  return {};
}

Result<void, std::string> Session::lay(const LayWork& work) {
  profile_scores_ = work.profile_scores;
  auto agent = AgentWorld::lay(world_.config, world_.host, work);
  if (!agent) return tl::unexpected(agent.error());
  agent_ = std::move(*agent);
  auto desk = AgentDesk::open(world_.strand, agent_->desk_socket());
  if (!desk) return tl::unexpected(desk.error());
  desk_ = std::move(*desk);
  if (auto started = start_container(); !started) return started;
  std::ignore = tasks_.spawn("runner", read_runner());
  std::ignore = tasks_.spawn("container", watch_container());
  std::ignore = tasks_.spawn("desk", run_desk());
  return {};
}

Result<void, std::string> Session::start_container() {
  if (world_.runner != nullptr) {
    container_ = AgentContainer::in_pod(world_.strand, std::move(*world_.runner),
                                        to_json_text(agent_->runner_settings()));
    return {};
  }
  auto container =
      AgentContainer::start(world_.strand, world_.host, agent_->container(world_.program));
  if (!container) return tl::unexpected(container.error());
  container_ = std::move(*container);
  return {};
}

void Session::cancel(std::uint64_t id) {
  const auto found = queued_.find(id);
  if (found == queued_.end()) return;  // it has just ended
  found->second->cancelled = true;
  if (id == current_) tick_.cancel();
}

Task<> Session::write_link() {
  while (auto message = co_await outbox_.pop(stop_)) {
    if (co_await link_.write(std::move(*message))) continue;
    finish({SessionEnd::Kind::done, "the worker has gone"});
    co_return;
  }
}

Task<> Session::read_runner() {
  while (const auto frame = co_await container_->socket().read()) {
    auto message = decode_from_runner(*frame);
    if (!message) {
      finish({SessionEnd::Kind::lost, "the runner sent nonsense: " + message.error()});
      co_return;
    }
    if (std::holds_alternative<RunnerReady>(*message) && !ready_) {
      ready_ = true;
      outbox_.push(WorkLaid{digest_, agent_->work_directory()});
    } else if (const auto* failed = std::get_if<RunnerFailed>(&*message)) {
      finish({SessionEnd::Kind::refused, "the runner cannot work here: " + failed->why});
    } else if (auto* done = std::get_if<ToolDone>(&*message); done && done->id == current_) {
      tool_done_ = std::move(*done);
      tick_.cancel();
    } else if (auto* files = std::get_if<FilesCollected>(&*message)) {
      const auto id = files->id;
      collected_[id] = std::move(*files);
      answered_.notify();
    }
    if (stop_.stopping()) break;
  }
  container_->stream_ended();
}

Task<> Session::watch_container() {
  const auto how = co_await container_->wait();
  if (stop_.stopping()) co_return;
  const auto log = read_file(world_.config.root_directory / "session/runner.log").value_or("");
  log_warning("the agent's container ended", {{"how", how}, {"log", log.substr(0, 2000)}});
  finish({ready_ ? SessionEnd::Kind::lost : SessionEnd::Kind::refused,
          "the agent's container ended: " + how + " " + log.substr(0, 500)});
}

Task<> Session::run_desk() {
  co_await desk_->serve([this](DeskRequest request) { return answer_desk(request); }, stop_);
}

Task<> Session::do_work() {
  while (const auto work = co_await work_.pop(stop_)) {
    if (const auto* call = std::get_if<ToolCall>(&(*work)->what)) {
      co_await run_tool(*call);
    } else {
      co_await pack(std::get<PackWork>((*work)->what).id);
    }
  }
}

Task<> Session::run_tool(ToolCall call) {
  const auto work = queued_.at(call.id);
  ToolResult result;
  result.id = call.id;
  const auto canonical = validate_tool_call(call.name, call.arguments_json);
  result.schema_valid = canonical.has_value();
  if (!canonical) {
    result.text = canonical.error();
  } else if (work->cancelled) {
    result.text = "[cancelled]";
  } else {
    figures_ = {};
    tool_done_.reset();
    current_ = call.id;
    tool_clock_ = std::make_shared<ToolClock>(world_.clock.now());
    container_->socket().send(encode(ToRunner(RunTool{call.id, call.name, *canonical})));
    co_await wait_for_tool(call.id, limit_of(call.name, *canonical));
    current_ = 0;
    if (!tool_done_) co_return;  // the session is over
    result.ok = tool_done_->ok;
    result.text = std::move(tool_done_->text);
    digest_ = tool_done_->digest;
    result.wall = in_ms(tool_clock_->ran(world_.clock.now()));
    result.compile = figures_;
    tool_clock_.reset();
  }
  result.work_digest = digest_;
  queued_.erase(call.id);
  outbox_.push(std::move(result));
}

Task<> Session::wait_for_tool(std::uint64_t id, Duration limit) {
  const auto work = queued_.at(id);
  const auto clock = tool_clock_;
  std::optional<TimePoint> given_up;
  while (!tool_done_ && !stop_.stopping()) {
    const auto now = world_.clock.now();
    const bool due = clock->ran(now) >= limit && !clock->standing();
    if (!given_up && (due || work->cancelled)) {
      const auto why = work->cancelled ? EndTool::Why::cancelled : EndTool::Why::timeout;
      container_->socket().send(encode(ToRunner(EndTool{why, id})));
      given_up = now + kRunnerGrace;
    }
    if (given_up && now >= *given_up) {
      finish({SessionEnd::Kind::lost, "the runner does not answer"});
      co_return;
    }
    tick_.expires_at(given_up ? *given_up : clock->due(limit));
    boost::system::error_code woken;
    co_await tick_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
}

}  // namespace swage::sandbox
