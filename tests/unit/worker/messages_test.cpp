#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/digest.hpp"
#include "common/rpc/channel.hpp"
#include "gpu_pool/worker/adapters/evaluator_messages.hpp"
#include "sandbox/api/bundle.hpp"
#include "swage/v1/bundle.pb.h"
#include "swage/v1/sandbox.pb.h"

namespace swage::worker {
namespace {

using namespace std::chrono_literals;

v1::EvaluateStart good_start() {
  v1::EvaluateStart start;
  start.set_request("r-1.1.1");
  start.mutable_lease_token()->set_epoch(3);
  start.mutable_lease_token()->set_counter(8);
  start.mutable_rollout()->set_rollout_id("r-1");
  start.mutable_rollout()->set_attempt(1);
  start.set_run_uid("run");
  start.set_mode(v1::EVALUATION_MODE_PROFILE);
  start.mutable_task()->set_id("t");
  start.mutable_task()->set_source("class Model: pass");
  start.mutable_task()->set_digest(sha256_hex("class Model: pass"));
  start.set_precision("official");
  start.set_bundle_id(std::string(64, 'a'));
  start.set_bundle_bytes(10);
  start.set_valid_for_ms(12'000);
  start.set_client("worker-0");
  return start;
}

TEST(EvaluatorMessages, AStartBecomesACall) {
  const auto call = call_from(good_start(), "ns.cpu");
  ASSERT_TRUE(call.has_value()) << call.error();
  EXPECT_EQ(call->request, lease::RequestId("r-1.1.1"));
  EXPECT_EQ(call->token, (lease::Token{3, 8}));
  EXPECT_EQ(call->client, lease::ClientId("worker-0"));
  EXPECT_EQ(call->valid_for, 12s);
  EXPECT_EQ(call->work.mode, judge::Mode::profile);
  EXPECT_EQ(call->work.pool, "ns.cpu");
  EXPECT_EQ(call->work.counter, 8U);
}

TEST(EvaluatorMessages, AStartWithABadFieldIsRefusedByTheFieldsName) {
  const auto complaint = [](auto spoil) {
    auto start = good_start();
    spoil(start);
    const auto call = call_from(start, "ns.cpu");
    return call ? std::string("accepted") : call.error().substr(0, call.error().find(' '));
  };
  EXPECT_EQ(complaint([](auto& s) { s.set_request("a|b"); }), "request");
  EXPECT_EQ(complaint([](auto& s) { s.clear_lease_token(); }), "lease_token");
  EXPECT_EQ(complaint([](auto& s) { s.mutable_rollout()->set_attempt(0); }), "rollout");
  EXPECT_EQ(complaint([](auto& s) { s.clear_mode(); }), "mode");
  EXPECT_EQ(complaint([](auto& s) { s.set_precision("loose"); }), "precision");
  EXPECT_EQ(complaint([](auto& s) { s.mutable_task()->set_source("other"); }), "task.digest");
  EXPECT_EQ(complaint([](auto& s) { s.set_bundle_bytes(sandbox::kMaxBundleBytes + 1); }),
            "bundle_bytes");
  EXPECT_EQ(complaint([](auto& s) { s.set_bundle_bytes(sandbox::kMaxBundleBytes); }), "accepted");
}

v1::Bundle good_bundle() {
  v1::Bundle bundle;
  auto& file = *bundle.add_files();
  file.set_path("kernels/a.cpp");
  file.set_mode(0444);
  file.set_content("int x;");
  bundle.set_library("ELF");
  bundle.set_id(sha256_hex("kernels/a.cpp 0444 6 " + sha256_hex("int x;") + "\nlibrary 0444 3 " +
                           sha256_hex("ELF") + "\n"));
  return bundle;
}

TEST(EvaluatorMessages, ABundleThatAgreesWithItsIdPasses) {
  const auto bundle = good_bundle();
  const auto ok = check_bundle(bundle.SerializeAsString(), bundle.id());
  EXPECT_TRUE(ok.has_value()) << ok.error();
}

TEST(EvaluatorMessages, ABundleWithOneChangedByteOrABadPathIsRefused) {
  const auto passes = [](auto spoil) {
    auto bundle = good_bundle();
    const auto id = bundle.id();
    spoil(bundle);
    return check_bundle(bundle.SerializeAsString(), id).has_value();
  };
  EXPECT_TRUE(passes([](auto&) {}));
  EXPECT_FALSE(passes([](auto& b) { b.mutable_files(0)->set_content("int y;"); }));
  EXPECT_FALSE(passes([](auto& b) { b.mutable_files(0)->set_mode(0644); }));
  EXPECT_FALSE(passes([](auto& b) { b.set_library("elf"); }));
  EXPECT_FALSE(passes([](auto& b) { b.set_id(std::string(64, 'b')); }));
  EXPECT_FALSE(passes([](auto& b) { b.mutable_files(0)->set_path("../a.cpp"); }));
  EXPECT_FALSE(passes([](auto& b) { *b.add_files() = b.files(0); }));
  EXPECT_FALSE(check_bundle("no protobuf", std::string(64, 'a')).has_value());
}

TEST(EvaluatorMessages, ALibraryAsLargeAsASandboxSendsPassesAndALargerOneIsRefused) {
  const auto answer = [](std::size_t bytes) {
    auto bundle = good_bundle();
    bundle.set_library(std::string(bytes, 'x'));
    bundle.set_id(sandbox::bundle_id({{"kernels/a.cpp", 0444, "int x;"}}, bundle.library()));
    const auto ok = check_bundle(bundle.SerializeAsString(), bundle.id());
    return ok ? std::string("accepted") : ok.error();
  };
  EXPECT_EQ(answer(sandbox::kMaxLibraryBytes), "accepted");
  EXPECT_EQ(answer(sandbox::kMaxLibraryBytes + 1),
            "the library is larger than 11 MiB; make it smaller");
}

/// What a sandbox may pack has to reach the rollout worker in one message.
TEST(EvaluatorMessages, TheLargestBundleFitsIntoOneMessage) {
  v1::SessionUp up;
  auto& bundle = *up.mutable_packed()->mutable_bundle();
  std::vector<sandbox::WorkFile> files;
  for (std::size_t i = 0; i < sandbox::kMaxBundleFiles; ++i) {
    auto& file = *bundle.add_files();
    file.set_path(std::to_string(i) + "/" + std::string(250, 'p'));
    file.set_content(std::string(sandbox::kMaxFilesBytes / sandbox::kMaxBundleFiles, 'c'));
    files.push_back({file.path(), 0444, file.content()});
  }
  ASSERT_TRUE(sandbox::check_bundle_files(files));
  bundle.set_library(std::string(sandbox::kMaxLibraryBytes, 'l'));
  bundle.set_compile_error(std::string(std::size_t{64} << 10, 'e'));
  EXPECT_LE(sandbox::kMaxBundleBytes, std::size_t{kMaxMessageBytes});
  EXPECT_LT(up.ByteSizeLong(), sandbox::kMaxBundleBytes - (std::size_t{64} << 10));
}

}  // namespace
}  // namespace swage::worker
