#include "gpu_pool/worker/adapters/judge_runner.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <utility>

#include "common/asio/packet_socket.hpp"
#include "common/asio/process.hpp"
#include "common/base/digest.hpp"
#include "common/base/memory_file.hpp"
#include "common/log/log.hpp"
#include "gpu_pool/judge/api/session.hpp"
#include "gpu_pool/worker/adapters/resident_tasks.hpp"
#include "gpu_pool/worker/adapters/zygote.hpp"

namespace swage::worker {
namespace {

namespace fs = std::filesystem;
using judge::JudgeErrc;
using judge::JudgeOutcome;
using judge::JudgeRequest;
using judge::Progress;
using judge::SessionBegin;
using judge::SessionNews;
using std::chrono::seconds;
using Outcome = Result<JudgeOutcome, JudgeErrc>;

constexpr std::size_t kMaxVerdict = 1UL << 20;
constexpr seconds kGrace{15};  // beyond the evaluation's own limit

/// What one judge sends back besides progress.
struct Returned {
  std::optional<std::string> verdict;
  Descriptor facts;
  Descriptor state;
  std::vector<IdleHost> hosts;
};

class ProcessJudgeRunner final : public judge::JudgeRunner {
 public:
  ProcessJudgeRunner(asio::any_io_executor strand, JudgeRunnerSettings settings, fs::path folder,
                     std::unique_ptr<Zygote> zygote)
      : strand_(std::move(strand)),
        settings_(std::move(settings)),
        folder_(std::move(folder)),
        zygote_(std::move(zygote)),
        tasks_(settings_.resident_tasks) {}
  ProcessJudgeRunner(const ProcessJudgeRunner&) = delete;
  ProcessJudgeRunner& operator=(const ProcessJudgeRunner&) = delete;
  ~ProcessJudgeRunner() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  Task<Outcome> run(JudgeRequest request, std::function<void(Progress)> progress,
                    StopSource& stop) override;
  bool knows(const std::string& task_digest) const override { return tasks_.knows(task_digest); }
  Task<bool> clear() override;
  Task<> shut_down() override;

 private:
  Task<bool> ensure_zygote(StopSource& stop);
  Task<Outcome> run_judge(JudgeRequest request, std::function<void(Progress)> progress,
                          StopSource& stop);
  Result<std::shared_ptr<Process>, std::string> start_judge(int socket);
  bool send_begin(PacketSocket& socket, const JudgeRequest& request, ResidentTask& task,
                  const fs::path& scratch, const Descriptor& client);
  Task<Returned> listen(PacketSocket& socket, std::function<void(Progress)> progress);

  asio::any_io_executor strand_;
  JudgeRunnerSettings settings_;
  fs::path folder_;
  std::unique_ptr<Zygote> zygote_;
  ResidentTasks tasks_;
  std::uint64_t evaluations_ = 0;
  bool shut_ = false;
};

Task<bool> ProcessJudgeRunner::ensure_zygote(StopSource& stop) {
  if (shut_) co_return false;
  const bool alive = zygote_ && co_await zygote_->clear(tasks_.pids());
  if (alive) co_return true;
  tasks_.clear();
  zygote_.reset();
  log_warning("the model hosts' zygote has gone; starting another");
  auto fresh = co_await Zygote::start(strand_, settings_, folder_ / "root", stop);
  if (!fresh) {
    log_error("the model hosts cannot be started", {{"why", fresh.error()}});
    co_return false;
  }
  zygote_ = std::move(*fresh);
  co_return true;
}

Task<Outcome> ProcessJudgeRunner::run(JudgeRequest request, std::function<void(Progress)> progress,
                                      StopSource& stop) {
  const bool ready = co_await ensure_zygote(stop);
  if (stop.stopping()) co_return Outcome(tl::unexpected(JudgeErrc::cancelled));
  if (!ready) co_return Outcome(tl::unexpected(JudgeErrc::not_ready));
  auto outcome = co_await run_judge(std::move(request), std::move(progress), stop);
  // Candidates end with their judge; here we wait until they have.
  co_await zygote_->clear(tasks_.pids());
  if (!outcome && stop.stopping()) co_return Outcome(tl::unexpected(JudgeErrc::cancelled));
  co_return outcome;
}

Result<std::shared_ptr<Process>, std::string> ProcessJudgeRunner::start_judge(int socket) {
  ProcessSpec spec;
  spec.argv = {settings_.judge_binary};
  spec.argv.insert(spec.argv.end(), settings_.judge_arguments.begin(),
                   settings_.judge_arguments.end());
  spec.env = {{"LANG", "C.UTF-8"}};
  if (!settings_.log.empty()) spec.log = settings_.log;
  spec.descriptors = {{judge::kSessionDescriptor, socket}};
  auto process = Process::start(strand_, spec);
  if (!process) return tl::unexpected(process.error().message);
  return std::shared_ptr<Process>(std::move(*process));
}

bool ProcessJudgeRunner::send_begin(PacketSocket& socket, const JudgeRequest& request,
                                    ResidentTask& task, const fs::path& scratch,
                                    const Descriptor& client) {
  const auto bundle = make_memory_file("bundle", request.bundle);
  const auto source = make_memory_file("model.py", request.task_source);
  if (!bundle || !source) return false;
  SessionBegin begin;
  begin.request = request;
  begin.scratch = scratch;
  begin.host_cores = settings_.host_cores;
  begin.judge_cores = settings_.judge_cores;
  begin.memory_bytes = settings_.memory_bytes;
  begin.seed = settings_.seed;
  begin.missing_layers = zygote_->missing_layers();
  begin.torch = zygote_->torch();
  begin.known_task = static_cast<bool>(task.facts);
  std::vector<int> descriptors{client.get(), bundle->get(), source->get()};
  if (begin.known_task) {
    descriptors.push_back(task.facts.get());
    descriptors.push_back(task.state.get());
  }
  for (const auto& idle : task.hosts) {
    begin.residents.push_back(idle.host);
    for (const auto& descriptor : idle.descriptors) descriptors.push_back(descriptor.get());
  }
  return socket.write(encode(begin), descriptors);
}

Task<Returned> ProcessJudgeRunner::listen(PacketSocket& socket,
                                          std::function<void(Progress)> progress) {
  Returned out;
  while (!out.verdict) {
    auto packet = co_await socket.read();
    if (!packet) break;
    const auto news = judge::decode_news(packet->text);
    if (!news) break;
    auto& given = packet->descriptors;
    if (news->kind == SessionNews::Kind::progress) {
      progress(news->progress);
    } else if (news->kind == SessionNews::Kind::facts && given.size() == 2) {
      out.facts = std::move(given[0]);
      out.state = std::move(given[1]);
    } else if (news->kind == SessionNews::Kind::keep && given.size() == judge::kHostDescriptors) {
      out.hosts.push_back({news->host, std::move(given)});
    } else if (news->kind == SessionNews::Kind::verdict && given.size() == 1) {
      auto bytes = read_memory_file(given[0], kMaxVerdict);
      if (bytes) out.verdict = std::move(*bytes);
    }
  }
  co_return out;
}

Task<Outcome> ProcessJudgeRunner::run_judge(JudgeRequest request,
                                            std::function<void(Progress)> progress,
                                            StopSource& stop) {
  const Outcome lost = tl::unexpected(JudgeErrc::judge_lost);
  const fs::path scratch = folder_ / ("evaluation-" + std::to_string(++evaluations_));
  std::error_code failed;
  fs::create_directory(scratch, failed);
  const Descriptor client = co_await zygote_->new_client();
  auto ends = make_packet_pair();
  if (failed || !client || !ends) co_return lost;
  PacketSocket socket(strand_, std::move(ends->first));
  auto process = start_judge(ends->second.get());
  if (!process) {
    log_error("the judge does not start", {{"why", process.error()}});
    co_return lost;
  }
  ends->second.reset(-1);
  const auto kill = [judge = *process] { judge->signal(SIGKILL, true); };
  if (stop.stopping()) kill();
  const auto hook = stop.on_stop(kill);
  ResidentTask task = tasks_.take(request.task_digest);
  asio::steady_timer watchdog(strand_);
  watchdog.expires_after(judge::time_limit(request, static_cast<bool>(task.facts)) + kGrace);
  watchdog.async_wait([kill](const boost::system::error_code& ended) {
    if (!ended) kill();
  });
  const bool sent = send_begin(socket, request, task, scratch, client);
  task.hosts.clear();  // the judge holds them now, and hands back what may be used again
  Returned back;
  if (sent) back = co_await listen(socket, std::move(progress));
  if (!back.verdict) kill();
  const int status = co_await (*process)->wait();
  watchdog.cancel();
  fs::remove_all(scratch, failed);
  if (!back.verdict || status != 0) {
    log_warning("a judge gave no verdict",
                {{"request", request.request}, {"ended", describe_status(status)}});
    co_return lost;
  }
  if (back.facts) {
    task.facts = std::move(back.facts);
    task.state = std::move(back.state);
  }
  task.hosts = std::move(back.hosts);
  if (task.facts) tasks_.put(std::move(task));
  auto hmac = hmac_sha256(settings_.verdict_key, *back.verdict);
  co_return JudgeOutcome{std::move(*back.verdict), std::move(hmac)};
}

Task<bool> ProcessJudgeRunner::clear() {
  const bool cleared = zygote_ && co_await zygote_->clear(tasks_.pids());
  co_return cleared;
}

Task<> ProcessJudgeRunner::shut_down() {
  shut_ = true;
  tasks_.clear();
  if (zygote_) co_await zygote_->shut_down();
  zygote_.reset();
}

Result<fs::path, std::string> make_folder() {
  std::string pattern = fs::temp_directory_path() / "swage-judge-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr)
    return tl::unexpected<std::string>("cannot make a folder under " +
                                       fs::temp_directory_path().string());
  std::error_code failed;
  fs::create_directory(fs::path(pattern) / "root", failed);
  // Where hosts cannot have a root of their own they must find their work space by its path.
  fs::permissions(pattern, fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec,
                  failed);
  return fs::path(pattern);
}

}  // namespace

void choose_cores(JudgeRunnerSettings& settings, std::string_view device) {
  const long count = ::sysconf(_SC_NPROCESSORS_ONLN);
  settings.judge_cores = {0};
  if (device == "cuda" && count >= 4) settings.judge_cores.push_back(1);
  settings.host_cores.clear();
  const long last = count < 4 ? std::min(count, 2L) : count;
  for (auto core = static_cast<long>(settings.judge_cores.size()); core < last; ++core)
    settings.host_cores.push_back(static_cast<int>(core));
  if (settings.host_cores.empty()) settings.host_cores = {0};
}

Task<Result<std::unique_ptr<judge::JudgeRunner>, std::string>> start_judge_runner(
    asio::any_io_executor strand, JudgeRunnerSettings settings, StopSource& stop) {
  using Started = Result<std::unique_ptr<judge::JudgeRunner>, std::string>;
  std::error_code failed;
  fs::create_directories(settings.cache_directory, failed);
  auto folder = make_folder();
  if (!folder) co_return Started(tl::unexpected(folder.error()));
  auto zygote = co_await Zygote::start(strand, settings, *folder / "root", stop);
  if (!zygote) {
    fs::remove_all(*folder, failed);
    co_return Started(tl::unexpected(zygote.error()));
  }
  for (const auto& layer : (*zygote)->missing_layers())
    log_warning("isolation layer is missing, trust is reduced", {{"layer", layer}});
  co_return Started(std::make_unique<ProcessJudgeRunner>(strand, std::move(settings),
                                                         std::move(*folder), std::move(*zygote)));
}

}  // namespace swage::worker
