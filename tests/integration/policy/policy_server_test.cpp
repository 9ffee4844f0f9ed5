#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "common/base/digest.hpp"
#include "policy/tokenizer/renderer.hpp"
#include "tests/integration/policy/policy_process.hpp"
#include "tests/integration/policy/weights.hpp"

namespace swage::policy::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PolicyServer : public testing::Test {
 protected:
  v1::GenerateRequest request(const std::string& session, const std::string& text,
                              std::uint32_t max_tokens, std::uint64_t seed = 3) {
    v1::GenerateRequest out;
    out.set_session(session);
    out.set_held_hash(fnv1a({}));
    const auto ids = server_.tokenizer().encode(text, false);
    out.mutable_append_ids()->Add(ids.begin(), ids.end());
    out.set_max_tokens(max_tokens);
    out.mutable_sampling()->set_temperature(0.6F);
    out.mutable_sampling()->set_seed(seed);
    return out;
  }
  std::int64_t vocabulary() const { return server_.tokenizer().vocabulary(); }
  PutResult put(std::uint64_t version, std::uint64_t seed, int broken = -1) {
    const auto bytes = scratch_weights(vocabulary(), seed);
    return publish(server_, manifest_of(bytes, vocabulary(), version), bytes, broken);
  }
  v1::PolicyInfo info() {
    v1::PolicyInfo out;
    const auto context = server_.context();
    EXPECT_TRUE(server_.policy().Info(context.get(), {}, &out).ok());
    return out;
  }
  PolicyProcess server_;
};

TEST_F(PolicyServer, ServesBeforeItHasWeightsAndSaysSo) {
  server_.start();
  const auto early = generate(server_, request("s", "x", 1));
  EXPECT_EQ(early.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(info().weight_version(), 0U);
  EXPECT_EQ(info().tokenizer_digest(), server_.tokenizer().digest());
  EXPECT_EQ(info().config_digest(), config_digest(tiny_config(vocabulary())));
  EXPECT_EQ(put(1, 1).put.loaded_version(), 1U);
  EXPECT_EQ(info().weight_version(), 1U);
  EXPECT_TRUE(generate(server_, request("s", "x", 1)).status.ok());
}

TEST_F(PolicyServer, ACallWithoutTheTokenIsRefused) {
  server_.start();
  grpc::ClientContext bare;
  v1::PolicyInfo out;
  EXPECT_EQ(server_.policy().Info(&bare, {}, &out).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(PolicyServer, TurnsContinueASessionAndAForgottenOneIsAMiss) {
  server_.start();
  put(1, 1);
  auto first = request("r/1", "for (int i = 0; i < n; ++i)\n", 20);
  const auto one = generate(server_, first);
  ASSERT_TRUE(one.status.ok()) << one.status.error_message();
  EXPECT_EQ(one.ids.size(), 20U);
  EXPECT_EQ(one.end.stop(), v1::GENERATE_STOP_MAX_TOKENS);
  EXPECT_EQ(one.end.prefilled_tokens(), static_cast<std::uint32_t>(first.append_ids_size()));
  std::vector<std::uint32_t> held(first.append_ids().begin(), first.append_ids().end());
  held.insert(held.end(), one.ids.begin(), one.ids.end());

  auto second = request("r/1", "y[i] = x[i];\n", 5);
  second.set_held(static_cast<std::uint32_t>(held.size()));
  second.set_held_hash(fnv1a(held));
  const auto two = generate(server_, second);
  EXPECT_EQ(two.ids.size(), 5U);
  EXPECT_EQ(two.end.prefilled_tokens(), static_cast<std::uint32_t>(second.append_ids_size()) + 1);

  // The whole prefix at once, elsewhere, samples the same: the draw depends on seed and position.
  auto whole = request("r/2", "", 5);
  whole.mutable_append_ids()->Add(held.begin(), held.end());
  whole.mutable_append_ids()->MergeFrom(second.append_ids());
  EXPECT_EQ(generate(server_, whole).ids, two.ids);

  const auto context = server_.context();
  v1::CloseSessionRequest close;
  close.set_session("r/1");
  v1::CloseSessionResponse closed;
  ASSERT_TRUE(server_.policy().Close(context.get(), close, &closed).ok());
  EXPECT_EQ(generate(server_, second).end.stop(), v1::GENERATE_STOP_SESSION_MISS);
}

TEST_F(PolicyServer, ABrokenChunkIsNamedAndOnlyTheMissingOneIsSentAgain) {
  server_.start();
  const auto broken = put(1, 1, 1);
  EXPECT_THAT(broken.put.bad_chunks(), ElementsAre(1));
  EXPECT_EQ(broken.put.loaded_version(), 0U);
  const auto repaired = put(1, 1);
  EXPECT_THAT(repaired.offer.missing(), ElementsAre(1));
  EXPECT_EQ(repaired.put.answer(), v1::OFFER_ANSWER_SEND);
  EXPECT_EQ(repaired.put.loaded_version(), 1U);
}

TEST_F(PolicyServer, AnOldVersionIsStaleAndAnotherModelIncompatible) {
  server_.start();
  put(5, 1);
  EXPECT_EQ(put(5, 2).offer.answer(), v1::OFFER_ANSWER_STALE_VERSION);
  EXPECT_EQ(put(4, 2).offer.answer(), v1::OFFER_ANSWER_STALE_VERSION);
  const auto bytes = scratch_weights(vocabulary() + 1, 1);
  const auto other = publish(server_, manifest_of(bytes, vocabulary() + 1, 6), bytes);
  EXPECT_EQ(other.offer.answer(), v1::OFFER_ANSWER_INCOMPATIBLE);
  EXPECT_THAT(other.offer.detail(), HasSubstr("config digest"));
  EXPECT_EQ(put(6, 2).put.loaded_version(), 6U);
}

TEST_F(PolicyServer, ARelayChainIsRefusedInWords) {
  server_.start();
  v1::OfferRequest offer;
  *offer.mutable_manifest() = manifest_of(scratch_weights(vocabulary(), 1), vocabulary(), 1);
  offer.add_chain("unix:/elsewhere");
  v1::OfferResponse out;
  const auto context = server_.context();
  EXPECT_EQ(server_.weights().Offer(context.get(), offer, &out).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(PolicyServer, NewWeightsUnderLoadFailNoRequest) {
  server_.start();
  put(1, 1);
  constexpr std::uint32_t kTokens = 600;  // outlasts a publication, also on a busy machine
  std::vector<std::future<Generated>> calls;
  for (int i = 0; i < 6; ++i) {
    const auto asked =
        request("s" + std::to_string(i), "for (int i", kTokens, static_cast<std::uint64_t>(i));
    calls.push_back(
        std::async(std::launch::async, [&, asked] { return generate(server_, asked); }));
  }
  std::uint64_t version = 1;
  const auto running = [&] {
    return std::ranges::any_of(calls, [](const auto& call) {
      return call.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
    });
  };
  constexpr std::uint64_t kVersions = 6;  // more would leave the engine no time to generate
  while (running() && version < kVersions) {
    ++version;
    EXPECT_EQ(put(version, version).put.loaded_version(), version);
  }
  EXPECT_GT(version, 2U);
  std::uint64_t newest = 0;
  for (auto& call : calls) {
    const auto got = call.get();
    EXPECT_TRUE(got.status.ok()) << got.status.error_message();
    EXPECT_EQ(got.ids.size(), kTokens);
    EXPECT_TRUE(std::ranges::is_sorted(got.versions));
    newest = std::max(newest, got.versions.back());
  }
  EXPECT_GT(newest, 1U);
}

TEST_F(PolicyServer, AClientThatGoesFreesItsSession) {
  server_.start();
  put(1, 1);
  {
    const auto context = server_.context();
    const auto reader = server_.policy().Generate(context.get(), request("s", "x", 30'000));
    v1::GenerateResponse message;
    ASSERT_TRUE(reader->Read(&message));
    context->TryCancel();
    reader->Finish();
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (info().running() > 0) ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  EXPECT_TRUE(generate(server_, request("s", "x", 2)).status.ok());
}

TEST_F(PolicyServer, SigtermEndsWhatRunsAndExitsWithZero) {
  server_.start();
  put(1, 1);
  auto call = std::async(std::launch::async,
                         [this] { return generate(server_, request("s", "x", 32'000)); });
  while (info().running() == 0) std::this_thread::yield();
  EXPECT_EQ(server_.terminate(), 0);
  const auto got = call.get();
  EXPECT_TRUE(got.end.stop() == v1::GENERATE_STOP_CANCELLED || !got.status.ok());
}

/// A learner that only knows Fetch.
class FakeLearner final : public v1::Weights::Service {
 public:
  explicit FakeLearner(const std::string& address) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakeLearner() override { server_->Shutdown(); }
  void hold(v1::WeightManifest manifest, std::string bytes) {
    const std::lock_guard lock(mutex_);
    manifest_ = std::move(manifest);
    bytes_ = std::move(bytes);
  }
  grpc::Status Fetch(grpc::ServerContext*, const v1::FetchRequest* request,
                     grpc::ServerWriter<v1::PutRequest>* writer) override {
    const std::lock_guard lock(mutex_);
    if (manifest_.version() <= request->newer_than())
      return {grpc::StatusCode::NOT_FOUND, "nothing yet"};
    v1::PutRequest first;
    *first.mutable_manifest() = manifest_;
    writer->Write(first);
    for (int i = 0; i < manifest_.chunk_crc32c_size(); ++i)
      writer->Write(chunk_of(manifest_, bytes_, static_cast<std::uint32_t>(i)));
    return grpc::Status::OK;
  }

 private:
  std::mutex mutex_;
  v1::WeightManifest manifest_;
  std::string bytes_;
  std::unique_ptr<grpc::Server> server_;
};

TEST(PolicyServerWithALearner, ANewOrKilledServerFetchesTheNewestWeightsByItself) {
  const swage::test::TempDirectory directory;
  const auto address = "unix:" + (directory.path() / "learner.sock").string();
  FakeLearner learner(address);
  PolicyProcess server(address);
  server.start();
  const auto wait_for = [&](std::uint64_t version) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    v1::PolicyInfo info;
    while (info.weight_version() != version) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      const auto context = server.context();
      ASSERT_TRUE(server.policy().Info(context.get(), {}, &info).ok());
    }
  };
  wait_for(0);
  const std::int64_t vocabulary = server.tokenizer().vocabulary();
  const auto bytes = scratch_weights(vocabulary, 1);
  learner.hold(manifest_of(bytes, vocabulary, 7), bytes);
  wait_for(7);
  server.kill();
  learner.hold(manifest_of(bytes, vocabulary, 9), bytes);
  server.start();
  wait_for(9);
}

TEST(PolicyServerWithALearner, AServerHandsItsWeightsToAnother) {
  PolicyProcess first;
  first.start();
  const std::int64_t vocabulary = first.tokenizer().vocabulary();
  const auto bytes = scratch_weights(vocabulary, 1);
  publish(first, manifest_of(bytes, vocabulary, 4), bytes);
  PolicyProcess second(first.address());
  second.start();
  v1::PolicyInfo info;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (info.weight_version() != 4U) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    const auto context = second.context();
    ASSERT_TRUE(second.policy().Info(context.get(), {}, &info).ok());
  }
}

}  // namespace
}  // namespace swage::policy::test
