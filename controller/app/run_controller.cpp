#include "controller/app/run_controller.hpp"

#include <unistd.h>

#include <exception>
#include <utility>

#include "common/base/exit_code.hpp"
#include "common/http/health.hpp"
#include "common/log/log.hpp"
#include "controller/app/program.hpp"

namespace swage::controller {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr auto kSaveEvery = 5s;
constexpr std::size_t kLastLines = 5;

lease::QueueConfig queue_of(const RunSetup& setup) {
  return {setup.layout.redis_address(), read_file(setup.layout.redis_password_file()).value_or(""),
          setup.file.pool.full_name()};
}

/// The last lines of a pod's log, for whoever reads why a run failed.
std::string last_lines(const std::filesystem::path& log) {
  const auto text = read_file(log);
  if (!text || text->empty()) return {};
  std::size_t from = text->size() - 1;
  for (std::size_t lines = 0; from > 0; --from)
    if ((*text)[from - 1] == '\n' && ++lines == kLastLines) break;
  return text->substr(from);
}

}  // namespace

RunController::RunController(asio::any_io_executor strand, StopSource& stop, Clock& clock,
                             RunSetup setup)
    : strand_(strand),
      stop_(stop),
      clock_(clock),
      setup_(std::move(setup)),
      started_unix_ms_(unix_ms()),
      saved_(clock.now()),
      handles_(metrics_, setup_.file.pool.full_name()),
      events_(strand, static_cast<std::uint64_t>(started_unix_ms_) * 1000),
      over_(strand),
      lead_gate_(strand, lead_stop_),
      rpc_gate_(strand, rpc_stop_),
      pool_(
          queue_of(setup_), setup_.file.pool,
          [this](std::uint64_t at_least) { return raise_epoch(at_least); }, clock),
      trajectories_(
          make_trajectory_client(setup_.layout.learner_address(), setup_.token, setup_.decode)),
      api_(*this, events_, clock, rpc_stop_),
      dispatch_service_({strand, rpc_gate_, setup_.token}),
      control_service_({strand, rpc_gate_, setup_.token}) {}

Task<int> RunController::run() {
  const auto hook = stop_.on_stop([this] { over_.notify(); });
  const auto epoch = setup_.out.raise_epoch(0);
  if (!epoch) {
    log_error("cannot write the epoch file; free some space or fix its permissions",
              {{"out", setup_.out.root().string()}});
    co_return exit_code::kNotWritable;
  }
  epoch_ = *epoch;
  if (!co_await start_serving()) co_return 1;
  const auto lead_hook = lead_stop_.on_stop([this] { over_.notify(); });
  co_await engine_->start();
  std::ignore = lead_gate_.spawn("pool leader", pool_.run([this] { engine_->wake(); }, lead_stop_));
  while (!stop_.stopping() && !engine_->over() && !engine_->broken() && !lead_stop_.stopping())
    co_await over_.wait(stop_);
  if (!stop_.stopping() && !engine_->over())
    engine_->fail("the controller has a fault", exit_code::kBug);
  if (!engine_->failure().empty()) log_error("the run has failed", {{"why", engine_->failure()}});
  ended_ = true;
  serving_ = false;
  co_await end_in_order();
  const int code = close_books();
  co_await stop_serving();
  co_return code;
}

/// Binds what others dial, then writes run.json. False: it was said why.
Task<bool> RunController::start_serving() {
  auto backend = make_local_pod_backend(strand_, clock_, setup_.layout.backend_settings());
  if (!backend) {
    log_error("cannot run pods here", {{"why", backend.error().message}});
    co_return false;
  }
  backend_ = std::move(*backend);
  EngineSetup setup{setup_.file,         setup_.out.run_uid(), setup_.layout,
                    setup_.tasks,        setup_.token,         setup_.sandbox_key,
                    setup_.out.totals(), started_unix_ms_,     setup_.out.evaluation_rollouts()};
  setup.log_of = [this](const std::string& pod) { return log_of(pod); };
  engine_ =
      std::make_unique<RunEngine>(strand_, clock_, std::move(setup), *backend_, *this, handles_);
  dispatch_service_.open(engine_->dispatch_desk());
  control_service_.open(engine_->control_desk());
  std::string problem;
  auto rpc =
      RpcServer::start(setup_.layout.controller_address(), {&dispatch_service_, &control_service_});
  if (rpc) {
    rpc_ = std::move(*rpc);
    HttpRouter router;
    add_health_routes(router, metrics_, [this] {
      return serving_ && engine_->workloads().reconciler().all_ready()
                 ? std::string()
                 : std::string("pods are starting");
    });
    api_.add_routes(router);
    auto http = HttpServer::start(strand_, "127.0.0.1:0", router, setup_.token);
    if (http) {
      http_ = std::move(*http);
      serving_ = true;
      write_run_json("running");
      co_return true;
    }
    problem = http.error().message;
    co_await rpc_->shut_down(0s);
  } else {
    problem = rpc.error().message;
  }
  log_error("cannot serve", {{"why", problem}});
  co_await backend_->close();
  co_return false;
}

Task<std::optional<std::uint64_t>> RunController::raise_epoch(std::uint64_t at_least) {
  const auto epoch = setup_.out.raise_epoch(at_least);
  if (epoch) epoch_ = *epoch;
  co_return epoch;
}

std::optional<Trouble> RunController::pool_trouble() const {
  if (pool_.reachable()) return std::nullopt;
  return Trouble{"Unreachable", "the lease queue does not answer; see the log of its Redis"};
}

void RunController::turned() {
  handles_.pool(pool_.snapshot(), pool_.reachable());
  if (clock_.now() - saved_ >= kSaveEvery) save_totals();
  if (stop_.stopping() || engine_->over() || engine_->broken()) over_.notify();
}

std::vector<json> RunController::pool_views() const {
  return {pool_json(setup_.file.pool, pool_.snapshot(), pool_.reachable())};
}

/// Where a pod's log is, and how it ends; of no pod: where all of them are.
std::string RunController::log_of(const std::string& pod) const {
  const auto folder = setup_.out.root() / "logs";
  if (pod.empty()) return "; see the logs in " + folder.string();
  const auto log = folder / (pod + ".log");
  const auto end = last_lines(log);
  return "; its log is " + log.string() + (end.empty() ? "" : "; it ends with:\n" + end);
}

void RunController::save_totals() {
  saved_ = clock_.now();
  const auto saved = setup_.out.save_totals(engine_->totals());
  if (!saved)
    engine_->fail(saved.error().message, saved.error().disk_full ? exit_code::kNotWritable : 1);
}

/// Ends everything that was started, the last user of a thing before the thing.
Task<> RunController::end_in_order() {
  const StopGraces graces;
  write_run_json("terminating");
  co_await engine_->end_in_order();
  lead_stop_.request(StopReason::requested);
  try {
    co_await lead_gate_.join();  // before its Redis
  } catch (const std::exception& fault) {
    log_error("the pool's leader threw", {{"what", fault.what()}});
    engine_->fail(fault.what(), exit_code::kBug);
  }
  co_await engine_->workloads().stop(Component::gpu_worker, graces.gpu_worker);
  co_await engine_->workloads().stop(Component::redis, graces.redis);
  co_await backend_->close();
  co_await engine_->leave();
}

/// Writes what the run leaves. Returns the exit code.
int RunController::close_books() {
  const bool well = engine_->succeeded();
  engine_->completed(unix_ms());
  save_totals();
  if (well) {
    const auto written = setup_.out.write_json(
        "summary.json", summary_json(engine_->facts(), engine_->wall_seconds()));
    if (!written) {
      engine_->fail(written.error().message,
                    written.error().disk_full ? exit_code::kNotWritable : 1);
      log_error("cannot write summary.json", {{"why", written.error().message}});
    }
  }
  const bool failed = !engine_->failure().empty();
  write_run_json(failed ? "failed" : well ? "succeeded" : "stopped");
  engine_->publish();
  return failed ? engine_->failure_code() : 0;
}

Task<> RunController::stop_serving() {
  co_await http_->stop();
  rpc_stop_.request(StopReason::requested);
  co_await rpc_->shut_down(0s);
  co_await rpc_gate_.join();
}

void RunController::write_run_json(const std::string& state) {
  const json value{{"run", setup_.file.run.name},
                   {"run_uid", setup_.out.run_uid()},
                   {"http", "127.0.0.1:" + std::to_string(http_->port())},
                   {"pid", ::getpid()},
                   {"tokenizer", setup_.layout.tokenizer().string()},
                   {"evaluation_rollouts", setup_.out.evaluation_rollouts()},
                   {"started", rfc3339(started_unix_ms_)},
                   {"file", (setup_.out.root() / "run.yaml").string()},
                   {"state", state}};
  const auto written = setup_.out.write_json("run.json", value);
  if (!written) log_error("cannot write run.json", {{"why", written.error().message}});
}

std::string RunController::still_running() const {
  return still_running_in({&lead_gate_, &rpc_gate_}, engine_ ? engine_->still_running() : "");
}

}  // namespace swage::controller
