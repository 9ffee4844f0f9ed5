#include "policy/engine/engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>

#include "common/base/digest.hpp"
#include "policy/model/decoder.hpp"

namespace swage::policy {
namespace {

using Ids = std::vector<std::uint32_t>;

/// Collects one request's yield and lets a test wait for its end.
class Collector final : public TokenSink {
 public:
  void tokens(SampledTokens t) override {
    const std::lock_guard lock(mutex_);
    ids.insert(ids.end(), t.ids.begin(), t.ids.end());
    logprobs.insert(logprobs.end(), t.behaviour_logprobs.begin(), t.behaviour_logprobs.end());
    for (std::size_t i = 0; i < t.ids.size(); ++i) versions.push_back(t.weight_version);
    changed_.notify_all();
  }
  void end(GenerateEnd e) override { finish(e, std::nullopt); }
  void refused(GenerateRefusal r) override { finish(std::nullopt, r.code); }

  void wait() {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, std::chrono::seconds(50), [this] { return done_; }));
  }
  void wait_tokens(std::size_t count) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, std::chrono::seconds(50),
                                  [&] { return done_ || ids.size() >= count; }));
  }

  Ids ids;
  std::vector<float> logprobs;
  std::vector<std::uint64_t> versions;
  std::optional<GenerateEnd> ended;
  std::optional<GenerateErrc> refusal;

 private:
  void finish(std::optional<GenerateEnd> e, std::optional<GenerateErrc> code) {
    const std::lock_guard lock(mutex_);
    ended = e;
    refusal = code;
    done_ = true;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
};

class Silent final : public EngineObserver {
 public:
  void step(std::size_t, std::size_t, double) override {}
  void queued(Duration) override {}
  void first_token(Duration) override {}
  void weights(std::uint64_t) override {}
};

class Engine : public testing::Test {
 protected:
  std::unique_ptr<InferenceEngine> make(KvPolicy kv = KvPolicy::recompute) {
    EngineOptions options;
    options.model = config_;
    options.kv = kv;
    options.context = 512;
    options.cache_tokens = 16'384;
    return make_torch_engine(options, observer_);
  }
  void load(InferenceEngine& engine, std::uint64_t version, const Decoder& model) {
    std::promise<void> done;
    engine.load_weights(version, std::make_shared<const std::string>(flat_weights(model)),
                        [&done] { done.set_value(); });
    done.get_future().get();
  }
  std::shared_ptr<Collector> ask(InferenceEngine& engine, const std::string& session, Ids ids,
                                 std::uint32_t max_tokens, std::uint64_t seed = 5,
                                 const Ids& held = {}) {
    GenerateRequest request;
    request.session = session;
    request.held = static_cast<std::uint32_t>(held.size());
    request.held_hash = fnv1a(held);
    request.append_ids = std::move(ids);
    request.max_tokens = max_tokens;
    request.sampling.seed = seed;
    request.sampling.temperature = 0.8F;
    auto sink = std::make_shared<Collector>();
    engine.generate(std::move(request), sink);
    return sink;
  }
  static Ids prompt(std::uint32_t salt, std::size_t length) {
    Ids out;
    for (std::size_t i = 0; i < length; ++i)
      out.push_back((salt * 31 + static_cast<std::uint32_t>(i) * 17) % 500);
    return out;
  }
  /// log softmax(z / tau) of each of `ids` after `before`, by the packed forward pass.
  std::vector<float> expected(const Decoder& model, Ids before, const Ids& ids) {
    const torch::NoGradGuard no_grad;
    const auto first = static_cast<std::int64_t>(before.size()) - 1;
    before.insert(before.end(), ids.begin(), ids.end());
    const auto batch = pack(std::vector<Ids>{before});
    const auto z = model.logits(model.hidden(batch)) / 0.8;
    const auto log_p = z.log_softmax(-1);
    std::vector<float> out;
    for (std::size_t i = 0; i < ids.size(); ++i)
      out.push_back(log_p[first + static_cast<std::int64_t>(i)][ids[i]].item<float>());
    return out;
  }

  ModelConfig config_ = tiny_config(500);
  Decoder model_ = Decoder::scratch(config_, 1);
  Silent observer_;
};

TEST_F(Engine, WithoutWeightsItRefusesAndWithThemItAnswers) {
  const auto engine = make();
  const auto early = ask(*engine, "s", {1}, 1);
  early->wait();
  EXPECT_EQ(early->refusal, GenerateErrc::no_weights);
  load(*engine, 1, model_);
  const auto late = ask(*engine, "s", {1}, 3);
  late->wait();
  EXPECT_EQ(late->ids.size(), 3U);
  EXPECT_EQ(late->versions, std::vector<std::uint64_t>(3, 1));
}

TEST_F(Engine, BehaviourLogProbabilitiesAreThoseOfTheTrainersForwardPassOverTurns) {
  const auto engine = make();
  load(*engine, 1, model_);
  Ids held = prompt(1, 20);
  auto first = ask(*engine, "s", held, 30);
  first->wait();
  const auto one = expected(model_, held, first->ids);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(first->logprobs[i], one[i], 1e-4);
  held.insert(held.end(), first->ids.begin(), first->ids.end());
  const auto observation = prompt(2, 70);
  auto second = ask(*engine, "s", observation, 30, 6, held);
  second->wait();
  ASSERT_EQ(second->ids.size(), 30U);
  EXPECT_LE(second->ended->prefilled_tokens, 71U);
  held.insert(held.end(), observation.begin(), observation.end());
  const auto two = expected(model_, held, second->ids);
  for (std::size_t i = 0; i < two.size(); ++i) EXPECT_NEAR(second->logprobs[i], two[i], 1e-4);
}

TEST_F(Engine, TheSameSeedGivesTheSameTokensAloneAndInACrowd) {
  const auto engine = make();
  load(*engine, 1, model_);
  constexpr std::uint32_t kSessions = 12;
  std::vector<std::shared_ptr<Collector>> crowd;
  for (std::uint32_t i = 0; i < kSessions; ++i)
    crowd.push_back(ask(*engine, "crowd" + std::to_string(i), prompt(i, 5 + 13 * i), 60, i));
  for (auto& sink : crowd) sink->wait();
  for (std::uint32_t i = 0; i < kSessions; ++i) {
    const auto alone = ask(*engine, "alone", prompt(i, 5 + 13 * i), 60, i);
    alone->wait();
    EXPECT_EQ(alone->ids, crowd[i]->ids);
    EXPECT_EQ(alone->logprobs, crowd[i]->logprobs) << "bits differ";
  }
}

TEST_F(Engine, NewWeightsUnderLoadTakeOverBetweenTwoTokensWithoutAFailedRequest) {
  const auto other = Decoder::scratch(config_, 2);
  const auto engine = make();
  load(*engine, 1, model_);
  std::vector<std::shared_ptr<Collector>> sinks;
  for (std::uint32_t i = 0; i < 8; ++i)
    sinks.push_back(ask(*engine, "s" + std::to_string(i), prompt(i, 10), 120, i));
  for (std::uint64_t version = 2; version <= 21; ++version) {
    const auto before = sinks[0]->versions.size();
    sinks[0]->wait_tokens(before + 2);
    load(*engine, version, version % 2 == 0 ? other : model_);
  }
  std::size_t swapped = 0;
  for (std::uint32_t i = 0; i < 8; ++i) {
    auto& sink = *sinks[i];
    sink.wait();
    ASSERT_TRUE(sink.ended);
    EXPECT_EQ(sink.ended->stop, GenerateStop::max_tokens);
    EXPECT_TRUE(std::ranges::is_sorted(sink.versions));
    swapped += sink.versions.front() != sink.versions.back();
    // Recomputed keys: each token's log-probability is that of its version's model over the whole.
    const auto by_model = expected(model_, prompt(i, 10), sink.ids);
    const auto by_other = expected(other, prompt(i, 10), sink.ids);
    for (std::size_t t = 0; t < sink.ids.size(); ++t)
      EXPECT_NEAR(sink.logprobs[t], (sink.versions[t] % 2 == 0 ? by_other : by_model)[t], 1e-4);
  }
  EXPECT_GT(swapped, 0U);
}

TEST_F(Engine, CancelEndsARequestAndStopRefusesTheNext) {
  const auto engine = make();
  load(*engine, 1, model_);
  GenerateRequest request;
  request.session = "s";
  request.append_ids = {1, 2};
  request.max_tokens = 500;
  const auto sink = std::make_shared<Collector>();
  const auto id = engine->generate(request, sink);
  sink->wait_tokens(3);
  engine->cancel(id);
  sink->wait();
  EXPECT_EQ(sink->ended->stop, GenerateStop::cancelled);
  EXPECT_EQ(sink->ended->generated_tokens, sink->ids.size());
  const auto running = ask(*engine, "t", {1}, 500);
  engine->stop();
  running->wait();
  EXPECT_EQ(running->ended->stop, GenerateStop::cancelled);
  const auto after = ask(*engine, "u", {1}, 1);
  after->wait();
  EXPECT_EQ(after->refusal, GenerateErrc::shutting_down);
}

}  // namespace
}  // namespace swage::policy
