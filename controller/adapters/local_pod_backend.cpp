#include "controller/adapters/local_pod_backend.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/asio/event.hpp"
#include "common/asio/gate.hpp"
#include "common/asio/process.hpp"
#include "common/base/files.hpp"
#include "common/log/log.hpp"
#include "controller/adapters/ready_watch.hpp"

namespace swage::controller {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

/// Narrows the calling thread to some cores while it lives: a child forked meanwhile inherits them.
class CoresGuard {
 public:
  explicit CoresGuard(const std::vector<int>& cores) {
    if (cores.empty() || ::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    for (const int core : cores) CPU_SET(static_cast<std::size_t>(core), &wanted);
    narrowed_ = ::sched_setaffinity(0, sizeof wanted, &wanted) == 0;
  }
  CoresGuard(const CoresGuard&) = delete;
  CoresGuard& operator=(const CoresGuard&) = delete;
  ~CoresGuard() {
    if (narrowed_) ::sched_setaffinity(0, sizeof before_, &before_);
  }

 private:
  cpu_set_t before_{};
  bool narrowed_ = false;
};

class Backend final : public LocalPodBackend {
 public:
  Backend(asio::any_io_executor strand, Clock& clock, LocalBackendSettings settings,
          std::unique_ptr<DirectoryWatch> watch)
      : strand_(strand),
        clock_(clock),
        settings_(std::move(settings)),
        watch_(std::move(watch)),
        events_(strand),
        gate_(strand, stop_) {
    std::ignore = gate_.spawn("ready files", watch_ready_files());
  }

  /// Children die with their controller: there is nobody to adopt, and a claim needs no mark.
  Task<std::vector<LivePod>> adopt(StopSource&) override { co_return std::vector<LivePod>{}; }
  Task<Result<void, PodError>> claim(std::string name, std::string uid, std::string) override {
    const auto found = pods_.find(name);
    if (found == pods_.end() || found->second->spec.uid != uid || found->second->ended)
      co_return tl::unexpected(PodError{PodErrc::not_found, "no pod " + name + " of uid " + uid});
    if (std::exchange(found->second->claimed, true))
      co_return tl::unexpected(PodError{PodErrc::lost, name + " is claimed already"});
    co_return Result<void, PodError>{};
  }

  Task<Result<void, PodError>> create(PodSpec spec) override {
    if (pods_.contains(spec.name))
      co_return tl::unexpected(PodError{PodErrc::refused, spec.name + " exists already"});
    const auto config = settings_.pods / (spec.name + ".conf");
    std::error_code ignored;
    fs::remove(settings_.pods / (spec.name + ".ready"), ignored);
    const auto written = write_file_durably(config, spec.config, 0600);
    if (!written) co_return tl::unexpected(disk_error(written.error()));

    ProcessSpec process;
    process.argv = settings_.programs.at(spec.component);
    process.argv.push_back(config.string());
    process.env = current_environment();
    process.log = settings_.logs / (spec.name + ".log");
    const auto cores = settings_.cores.find(spec.component);
    auto started = start(process, cores == settings_.cores.end() ? kAllCores : cores->second);
    if (!started) co_return tl::unexpected(start_error(spec.component, started.error()));

    auto pod = std::make_shared<Pod>(strand_);
    pod->spec = std::move(spec);
    pod->process = std::move(*started);
    pods_[pod->spec.name] = pod;
    report(*pod, PodPhase::running);
    std::ignore = gate_.spawn("pod " + pod->spec.name, follow(pod));
    if (pod->spec.component == Component::redis)
      std::ignore = gate_.spawn("redis socket", await_redis(pod));
    co_return Result<void, PodError>{};
  }

  Task<Result<void, PodError>> remove(std::string name, std::string uid,
                                      std::chrono::milliseconds grace) override {
    const auto found = pods_.find(name);
    if (found == pods_.end() || found->second->spec.uid != uid)
      co_return tl::unexpected(PodError{PodErrc::not_found, "no pod " + name + " of uid " + uid});
    const auto pod = found->second;
    pod->removed = true;
    pod->process->signal(SIGTERM, false);
    if (!gate_.spawn("grace of " + name, kill_late(pod, clock_.now() + grace)))
      pod->process->signal(SIGKILL, true);
    StopSource never;
    while (!pod->ended) co_await pod->end.wait(never);
    co_return Result<void, PodError>{};
  }

  Task<std::optional<PodEvent>> next_event(StopSource& stop) override {
    co_return co_await events_.pop(stop);
  }

  Task<> close() override {
    for (const auto& [name, pod] : pods_) {
      pod->removed = true;
      pod->process->signal(SIGKILL, true);
    }
    stop_.request(StopReason::requested);
    co_await gate_.join();
    events_.close();
  }

 private:
  struct Pod {
    explicit Pod(const asio::any_io_executor& strand) : end(strand) {}
    PodSpec spec;
    std::unique_ptr<Process> process;
    bool ready = false;
    bool claimed = false;
    bool removed = false;
    bool ended = false;
    int http_port = 0;
    StopSource over;  ///< requested when it has ended
    Event end;
  };
  inline static const std::vector<int> kAllCores;

  Result<std::unique_ptr<Process>, FileError> start(const ProcessSpec& spec,
                                                    const std::vector<int>& cores) {
    const CoresGuard guard(cores);
    return Process::start(strand_, spec);
  }

  static PodError disk_error(const FileError& error) {
    const bool full = error.code == std::errc::no_space_on_device;
    return {full ? PodErrc::disk_full : PodErrc::refused,
            error.message + (full ? "; free some space and resume the run" : "")};
  }

  PodError start_error(Component component, const FileError& error) const {
    const bool missing = error.code == std::errc::no_such_file_or_directory;
    if (!missing) return {PodErrc::refused, error.message};
    const auto remedy = settings_.remedies.find(component);
    return {PodErrc::missing,
            error.message + (remedy == settings_.remedies.end() ? "" : "; " + remedy->second)};
  }

  void report(const Pod& pod, PodPhase phase, std::optional<int> exit_code = std::nullopt,
              std::string detail = {}) {
    PodEvent event{pod.spec.name, pod.spec.uid, pod.spec.component,
                   phase,         exit_code,    std::move(detail)};
    event.http_port = pod.http_port;
    event.pid = pod.process->pid();
    events_.push(std::move(event));
  }

  /// Waits for one pod's end and reports it.
  Task<> follow(std::shared_ptr<Pod> pod) {
    const int status = co_await pod->process->wait();
    pod->process->signal(SIGKILL, true);  // whoever is left of its group
    pod->ended = true;
    pods_.erase(pod->spec.name);
    const bool exited = WIFEXITED(status);
    const std::optional<int> code = exited ? std::optional(WEXITSTATUS(status)) : std::nullopt;
    report(*pod, code == 0 ? PodPhase::succeeded : PodPhase::failed, code, describe_status(status));
    if (pod->removed) forget_files(*pod);
    pod->over.request(StopReason::requested);
    pod->end.notify();
  }

  Task<> kill_late(std::shared_ptr<Pod> pod, TimePoint deadline) {
    co_await clock_.sleep_until(deadline, pod->over);
    if (!pod->ended) pod->process->signal(SIGKILL, true);
  }

  /// A sandbox that ended as asked leaves its log only if there is something wrong in it.
  void forget_files(const Pod& pod) const {
    std::error_code ignored;
    fs::remove(settings_.pods / (pod.spec.name + ".ready"), ignored);
    if (pod.spec.component != Component::sandbox) return;
    fs::remove(settings_.pods / (pod.spec.name + ".conf"), ignored);
    const auto log = settings_.logs / (pod.spec.name + ".log");
    const auto text = read_file(log).value_or("");
    const bool quiet =
        text.find(" warning ") == std::string::npos && text.find(" error ") == std::string::npos;
    if (quiet && pod.process->status() == 0) fs::remove(log, ignored);
  }

  Task<> watch_ready_files() {
    while (!stop_.stopping()) {
      const auto names = co_await watch_->next(stop_);
      for (const auto& name : names) {
        if (!name.ends_with(".ready")) continue;
        const auto found = pods_.find(name.substr(0, name.size() - 6));
        if (found != pods_.end()) take_ready_file(*found->second, settings_.pods / name);
      }
    }
  }

  void take_ready_file(Pod& pod, const fs::path& file) {
    const auto text = read_file(file);
    if (!text || pod.ready) return;
    const auto value = nlohmann::json::parse(*text, nullptr, false);
    if (!value.is_object() || value.value("pid", 0L) != pod.process->pid()) return;
    pod.http_port = value.value("http_port", 0);
    pod.ready = true;
    report(pod, PodPhase::ready);
  }

  Task<> await_redis(std::shared_ptr<Pod> pod) {
    while (!pod->ended && !stop_.stopping()) {
      if (accepts_connections(settings_.redis_socket)) {
        pod->ready = true;
        report(*pod, PodPhase::ready);
        co_return;
      }
      co_await clock_.sleep_for(20ms, stop_);
    }
  }

  asio::any_io_executor strand_;
  Clock& clock_;
  LocalBackendSettings settings_;
  std::unique_ptr<DirectoryWatch> watch_;
  std::map<std::string, std::shared_ptr<Pod>> pods_;
  Mailbox<PodEvent> events_;
  StopSource stop_;
  Gate gate_;
};

}  // namespace

Result<std::unique_ptr<LocalPodBackend>, PodError> make_local_pod_backend(
    asio::any_io_executor strand, Clock& clock, LocalBackendSettings settings) {
  auto watch = DirectoryWatch::open(strand, settings.pods);
  if (!watch) return tl::unexpected(PodError{PodErrc::refused, watch.error()});
  return std::make_unique<Backend>(std::move(strand), clock, std::move(settings),
                                   std::move(*watch));
}

}  // namespace swage::controller
