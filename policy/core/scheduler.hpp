#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "policy/api/generation.hpp"
#include "policy/core/page_pool.hpp"

namespace swage::policy {

struct SchedulerLimits {
  std::int64_t vocabulary = 0;
  std::int64_t context = 0;  ///< most ids of a session
  std::int64_t pages = 0;    ///< of the cache; one session of `context` ids must fit
  std::int64_t page_tokens = 64;
  std::size_t running = 256;  ///< requests that take part in steps
  std::size_t queue = 1024;   ///< requests in hand, running ones included
  std::size_t step_tokens = 8192;
  std::size_t prefill_chunk = 2048;
  Duration idle = std::chrono::minutes(30);  ///< a session not used so long is dropped
};

/// One request's part of a step: run `ids` at positions past … past + ids.size() - 1.
struct StepItem {
  RequestId request = 0;
  std::span<const std::uint32_t> ids;
  std::int64_t past = 0;
  std::span<const std::int32_t> pages;
  bool sample = false;  ///< the last id's logits are wanted
  Sampling sampling;
  std::uint64_t position = 0;  ///< absolute, of the token to be sampled
};

/// Valid until the scheduler is used again in any other way than complete().
struct StepPlan {
  std::vector<StepItem> items;
  std::vector<Duration> queue_waits;  ///< of requests that run for the first time
};

/// What a request yields.
struct Emission {
  RequestId request = 0;
  std::variant<SampledTokens, GenerateEnd, GenerateRefusal> what;
};

/// A sampled token, or nothing when the logits were not finite.
struct StepSample {
  std::optional<std::uint32_t> id;
  float behaviour_logprob = 0;
};

/// Decides what each step of continuous batching runs, and keeps sessions and their pages. Pure:
/// the caller runs plan(), then complete(), and delivers emissions. Invariant of a session: the
/// first `computed` of its ids have keys and values in its pages; the ids after them are still to
/// run. Order of a step: requests with one id to run (decodes) first, then prefills, oldest first.
/// Short of pages: sessions without a request lose theirs, least recently used first, then the
/// youngest request; what they lost is run again later.
class Scheduler {
 public:
  explicit Scheduler(const SchedulerLimits& limits);

  void submit(RequestId id, GenerateRequest request, TimePoint now);
  void cancel(RequestId id);
  void cancel_all();
  void close(const std::string& session);
  /// Drops idle sessions and cancels requests whose deadline has passed.
  void expire(TimePoint now);
  void weights_loaded(std::uint64_t version, KvPolicy policy);

  StepPlan plan(TimePoint now);
  /// samples: one per item with `sample`, in order. Returns how long the requests that got their
  /// first token had waited for it.
  std::vector<Duration> complete(const StepPlan& plan, std::span<const StepSample> samples,
                                 TimePoint now);
  std::vector<Emission> take_emissions() { return std::exchange(emissions_, {}); }

  bool has_work() const { return !requests_.empty(); }
  std::size_t requests() const { return requests_.size(); }
  std::size_t sessions() const { return sessions_.size(); }
  std::uint64_t weight_version() const { return version_; }
  double kv_used_ratio() const;

 private:
  struct Session {
    std::string name;
    std::vector<std::uint32_t> ids;
    std::uint64_t hash = 0;  // of ids
    std::size_t computed = 0;
    std::vector<std::int32_t> pages;
    TimePoint used;
    std::optional<RequestId> request;
  };
  struct Request {
    GenerateRequest asked;
    Session* session = nullptr;
    TimePoint submitted;
    bool started = false;
    std::uint32_t prefilled = 0;
    std::uint32_t generated = 0;
  };

  std::optional<GenerateRefusal> refusal(const GenerateRequest& request) const;
  Session* matching_session(const GenerateRequest& request);
  Session& fresh_session(const std::string& name);
  void append(Session& session, std::span<const std::uint32_t> ids);
  bool make_room(RequestId id, Request& request, std::size_t tokens);
  bool evict_idle_session();
  bool preempt_younger_than(RequestId id);
  void take_token(RequestId id, Request& request, const StepSample& sample);
  void end(RequestId id, GenerateStop stop);
  void refuse(RequestId id, GenerateRefusal refusal);
  void forget(RequestId id);

  SchedulerLimits limits_;
  PagePool pool_;
  std::uint64_t version_ = 0;
  std::unordered_map<std::string, std::unique_ptr<Session>> sessions_;
  std::map<RequestId, Request> requests_;  // ids rise with time: oldest first
  std::vector<Emission> emissions_;
};

}  // namespace swage::policy
