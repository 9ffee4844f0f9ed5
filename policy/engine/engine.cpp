#include "policy/engine/engine.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "common/base/check.hpp"
#include "policy/core/scheduler.hpp"
#include "policy/engine/runner.hpp"

namespace swage::policy {
namespace {

using std::chrono::steady_clock;

std::int64_t pages_for(std::int64_t tokens) { return (tokens + kPageTokens - 1) / kPageTokens; }

SchedulerLimits limits_of(const EngineOptions& options) {
  SchedulerLimits limits;
  limits.vocabulary = options.model.vocabulary;
  limits.context = options.context > 0 ? std::min(options.context, options.model.context)
                                       : options.model.context;
  limits.pages = pages_for(std::max(options.cache_tokens, limits.context));
  limits.page_tokens = kPageTokens;
  limits.queue = options.queue;
  return limits;
}

/// Thread: loop() is the engine's thread and the sole user of scheduler, runner and sinks; the
/// public functions only post. Life: the destructor stops and joins.
class TorchEngine final : public InferenceEngine {
 public:
  TorchEngine(const EngineOptions& options, EngineObserver& observer)
      : options_(options),
        observer_(observer),
        scheduler_(limits_of(options)),
        thread_([this] { loop(); }) {}
  ~TorchEngine() override { stop(); }

  RequestId generate(GenerateRequest request, std::shared_ptr<TokenSink> sink) override {
    RequestId id = 0;
    bool refused = false;
    {
      const std::lock_guard lock(mutex_);
      id = ++last_id_;
      refused = stopping_;
      if (!refused) {
        jobs_.push_back([this, id, request = std::move(request), sink]() mutable {
          sinks_.emplace(id, std::move(sink));
          scheduler_.submit(id, std::move(request), steady_clock::now());
        });
      }
    }
    if (refused) {
      sink->refused({GenerateErrc::shutting_down, "the engine is shutting down"});
    } else {
      wake_.notify_one();
    }
    return id;
  }
  void cancel(RequestId id) override {
    post([this, id] { scheduler_.cancel(id); });
  }
  void close(std::string session) override {
    post([this, session = std::move(session)] { scheduler_.close(session); });
  }
  void load_weights(std::uint64_t version, std::shared_ptr<const std::string> bytes,
                    std::function<void()> done) override {
    post([this, version, bytes = std::move(bytes), done = std::move(done)] {
      auto model = from_flat_weights(options_.model, *bytes);
      check(model.has_value(), "weights of another layout reached the engine");
      runner_->use(std::move(*model));
      scheduler_.weights_loaded(version, options_.kv);
      observer_.weights(version);
      publish_status();  // first: whoever hears of the new weights may ask at once
      done();
    });
  }
  EngineStatus status() const override {
    const std::lock_guard lock(mutex_);
    return status_;
  }
  void stop() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void post(std::function<void()> job) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      jobs_.push_back(std::move(job));
    }
    wake_.notify_one();
  }

  void loop() {
    at::set_num_threads(options_.threads);
    runner_ = std::make_unique<StepRunner>(options_.model, limits_of(options_).pages);
    while (run_jobs()) {
      scheduler_.expire(steady_clock::now());
      deliver();
      if (scheduler_.has_work()) step();
      deliver();
      publish_status();
    }
    scheduler_.cancel_all();
    deliver();
  }

  void publish_status() {
    const std::lock_guard lock(mutex_);
    status_ = {scheduler_.weight_version(), static_cast<std::uint32_t>(scheduler_.requests()),
               static_cast<std::uint32_t>(scheduler_.sessions())};
  }

  /// Waits for a job when there is no work. False: stopping, and every job has run.
  bool run_jobs() {
    std::deque<std::function<void()>> jobs;
    bool go_on = true;
    {
      std::unique_lock lock(mutex_);
      // It looks up now and then, to drop sessions that nobody uses.
      if (!scheduler_.has_work())
        wake_.wait_for(lock, std::chrono::minutes(1),
                       [this] { return !jobs_.empty() || stopping_; });
      jobs.swap(jobs_);
      go_on = !stopping_;
    }
    for (auto& job : jobs) job();
    return go_on;
  }

  void step() {
    const auto plan = scheduler_.plan(steady_clock::now());
    if (plan.items.empty()) return;
    for (const auto wait : plan.queue_waits) observer_.queued(wait);
    const auto samples = runner_->run(plan);
    observer_.step(plan.items.size(), samples.size(), scheduler_.kv_used_ratio());
    for (const auto wait : scheduler_.complete(plan, samples, steady_clock::now()))
      observer_.first_token(wait);
  }

  void deliver() {
    for (auto& emission : scheduler_.take_emissions()) {
      const auto at = sinks_.find(emission.request);
      check(at != sinks_.end(), "an emission without a sink");
      auto& sink = *at->second;
      if (auto* tokens = std::get_if<SampledTokens>(&emission.what)) {
        sink.tokens(std::move(*tokens));
        continue;
      }
      if (const auto* ended = std::get_if<GenerateEnd>(&emission.what)) sink.end(*ended);
      if (auto* refused = std::get_if<GenerateRefusal>(&emission.what))
        sink.refused(std::move(*refused));
      sinks_.erase(at);
    }
  }

  const EngineOptions options_;
  EngineObserver& observer_;
  Scheduler scheduler_;
  std::unique_ptr<StepRunner> runner_;  // made on the engine's thread
  std::unordered_map<RequestId, std::shared_ptr<TokenSink>> sinks_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  RequestId last_id_ = 0;
  bool stopping_ = false;
  EngineStatus status_;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace

std::unique_ptr<InferenceEngine> make_torch_engine(const EngineOptions& options,
                                                   EngineObserver& observer) {
  return std::make_unique<TorchEngine>(options, observer);
}

}  // namespace swage::policy
