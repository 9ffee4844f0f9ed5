#include <gmock/gmock.h>

#include <fstream>

#include "common/k8s/backoff.hpp"
#include "common/k8s/config.hpp"
#include "common/k8s/credentials.hpp"
#include "common/k8s/expectations.hpp"
#include "common/k8s/line_splitter.hpp"
#include "common/k8s/token_bucket.hpp"
#include "common/k8s/watch_event.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::k8s {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const TimePoint kStart{std::chrono::hours(1000)};

TEST(K8sError, EveryStatusHasItsKind) {
  EXPECT_EQ(error_from(409, "{}", {}).code, Errc::conflict);
  EXPECT_EQ(error_from(404, "", {}).code, Errc::not_found);
  EXPECT_EQ(error_from(410, "", {}).code, Errc::gone);
  EXPECT_EQ(error_from(401, "", {}).code, Errc::unauthorized);
  EXPECT_EQ(error_from(403, "", {}).code, Errc::forbidden);
  EXPECT_EQ(error_from(429, "", {}).code, Errc::throttled);
  EXPECT_EQ(error_from(422, "", {}).code, Errc::invalid);
  EXPECT_EQ(error_from(503, "no JSON", {}).code, Errc::transport);
  EXPECT_EQ(error_from(503, "no JSON", {}).message, "no JSON");
}

TEST(K8sError, AStatusTellsReasonManagersTokenAndWait) {
  const auto error = error_from(409, R"({"message":"m","reason":"Conflict",
    "metadata":{"continue":"next"},"details":{"retryAfterSeconds":3,"causes":[
      {"reason":"FieldManagerConflict","message":"conflict with \"kubectl\" using v1","field":".a"},
      {"reason":"FieldManagerConflict","message":"conflict with \"kubectl\" using v1","field":".b"},
      {"reason":"FieldManagerConflict","message":"conflict with \"helm\" using v1"}]}})",
                                std::nullopt);
  EXPECT_EQ(error.reason, "Conflict");
  EXPECT_EQ(error.continue_token, "next");
  EXPECT_EQ(error.retry_after, 3s);
  EXPECT_THAT(error.managers, ElementsAre("kubectl", "helm"));
}

TEST(K8sError, HostileBodiesAreOnlyText) {
  for (const char* body : {"[]", "null", "{\"details\":7}", "{\"details\":{\"causes\":[1]}}",
                           "{\"message\":{}}", "{\"metadata\":[]}"})
    EXPECT_EQ(error_from(500, body, {}).code, Errc::transport) << body;
  EXPECT_LE(error_from(500, std::string(100'000, 'x'), {}).message.size(), 1000U);
}

TEST(K8sError, ARevisionThatIsAheadIsKnownByCauseOrText) {
  EXPECT_TRUE(revision_is_ahead(
      error_from(504, R"({"details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}})", {})));
  EXPECT_TRUE(revision_is_ahead(error_from(
      500, R"({"message":"etcdserver: mvcc: required revision is a future revision"})", {})));
  EXPECT_FALSE(revision_is_ahead(error_from(500, R"({"message":"something else"})", {})));
}

TEST(K8sPath, PathsNameGroupNamespaceAndSubresource) {
  const ResourceType pods{"", "v1", "pods", "Pod"};
  const ResourceType runs{"swage.dev", "v1alpha1", "trainingruns", "TrainingRun"};
  const ResourceType nodes{"", "v1", "nodes", "Node", false};
  EXPECT_EQ(path_of(pods, "a", "b", "log"), "/api/v1/namespaces/a/pods/b/log");
  EXPECT_EQ(path_of(runs, "", ""), "/apis/swage.dev/v1alpha1/trainingruns");
  EXPECT_EQ(path_of(nodes, "ignored", "n"), "/api/v1/nodes/n");
  EXPECT_EQ(query_of({{"a", "x=y,z"}, {"b", ""}, {"c", "1"}}), "?a=x%3Dy%2Cz&c=1");
}

TEST(K8sMeta, IllTypedMetadataIsEmptyAndNoFailure) {
  const auto meta = meta_of(Json::parse(R"({"metadata":{"name":7,"labels":{"a":"b","c":1}}})"));
  EXPECT_EQ(meta.name, "");
  EXPECT_EQ(meta.labels.size(), 1U);
  EXPECT_EQ(meta_of(Json::array()).key(), "");
}

TEST(K8sRevision, OnlyNumbersAreCompared) {
  EXPECT_TRUE(older("9", "10"));
  EXPECT_FALSE(older("10", "10"));
  EXPECT_FALSE(older("x", "10"));
  EXPECT_FALSE(older("", "10"));
}

TEST(LineSplitterTest, ALineOverTheLimitStopsItAndOneAtTheLimitDoesNot) {
  std::vector<std::string> lines;
  const auto keep = [&lines](std::string line) { lines.push_back(std::move(line)); };
  LineSplitter splitter(4);
  EXPECT_TRUE(splitter.feed("ab", keep));
  EXPECT_TRUE(splitter.feed("cd\n\nx", keep));
  EXPECT_THAT(lines, ElementsAre("abcd"));
  EXPECT_EQ(LineSplitter(splitter).take_rest(), "x");
  EXPECT_FALSE(splitter.feed("yzab", keep));
}

TEST(BackoffTest, ItDoublesUpToThirtySecondsWithFullJitterAndForgetsAfterTwoMinutes) {
  Backoff backoff;
  auto now = kStart;
  for (const auto expected : {800ms, 1600ms, 3200ms, 6400ms, 12800ms, 25600ms, 30000ms, 30000ms})
    EXPECT_EQ(backoff.failed(now += 1s, 0.5), expected / 2);
  EXPECT_EQ(backoff.failed(now + 2min, 1.0), 30s);
  EXPECT_EQ(backoff.failed(now + 4min + 1ns, 1.0), 800ms);
  EXPECT_EQ(backoff.failed(now + 4min + 1ns, 0.0), 0ms);
}

TEST(BackoffTest, RetryAfterIsKeptToAndJittered) {
  Backoff backoff;
  EXPECT_EQ(backoff.failed(kStart, 0.0, 4s), 4s);
  EXPECT_EQ(backoff.failed(kStart, 1.0, 4s), 6s);
  for (int i = 0; i < 8; ++i) static_cast<void>(backoff.failed(kStart, 1.0));
  EXPECT_EQ(backoff.failed(kStart, 1.0, 4s), 30s);
}

TEST(TokenBucketTest, ABurstPassesAndTheRestIsSpread) {
  TokenBucket bucket(10, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bucket.take(kStart), kStart);
  EXPECT_NEAR(std::chrono::duration<double>(bucket.take(kStart) - kStart).count(), 0.1, 1e-6);
  EXPECT_NEAR(std::chrono::duration<double>(bucket.take(kStart) - kStart).count(), 0.2, 1e-6);
  EXPECT_EQ(bucket.take(kStart + 10s), kStart + 10s);
  TokenBucket off(0, 0);
  EXPECT_EQ(off.take(kStart), kStart);
}

TEST(WatchEventTest, OnlyKnownEventsWithAnObjectAreTaken) {
  EXPECT_EQ(parse_watch_event(R"({"type":"BOOKMARK","object":{}})")->type,
            WatchEvent::Type::bookmark);
  for (const char* line : {"", "{", "[]", R"({"type":"ADDED"})", R"({"type":1,"object":{}})",
                           R"({"type":"NEW","object":{}})", R"({"type":"ADDED","object":[]})"})
    EXPECT_FALSE(parse_watch_event(line).has_value()) << line;
}

TEST(ExpectationsTest, AnOwnCreationCountsUntilItIsSeenAndIsAskedForAfterThirtySeconds) {
  Expectations expectations;
  expectations.creating("ns/a", kStart);
  expectations.creating("ns/b", kStart + 10s);
  EXPECT_EQ(expectations.unseen(), 2U);
  EXPECT_TRUE(expectations.overdue(kStart + 29s).empty());
  EXPECT_THAT(expectations.overdue(kStart + 30s), ElementsAre("ns/a"));
  Meta seen;
  seen.name = "a";
  seen.name_space = "ns";
  expectations.seen(seen);
  expectations.never_came("ns/b");
  EXPECT_EQ(expectations.unseen(), 0U);
}

TEST(ExpectationsTest, ADeletionCountsUntilTheObjectWithThatUidIsGone) {
  Expectations expectations;
  expectations.deleting("u1");
  Meta other;
  other.uid = "u2";
  expectations.gone(other);
  EXPECT_TRUE(expectations.is_going("u1"));
  other.uid = "u1";
  expectations.gone(other);
  EXPECT_FALSE(expectations.is_going("u1"));
}

TEST(CredentialsTest, ATokenFileIsReadEachMinuteAndALostOneChangesNothing) {
  test::TempDirectory folder;
  const auto file = folder.path() / "token";
  std::ofstream(file) << "one\n";
  Credentials credentials("", file);
  EXPECT_EQ(credentials.token(kStart), "one");
  std::ofstream(file) << "two";
  EXPECT_EQ(credentials.token(kStart + 59s), "one");
  EXPECT_EQ(credentials.token(kStart + 60s), "two");
  std::filesystem::remove(file);
  EXPECT_EQ(credentials.token(kStart + 120s), "two");
  EXPECT_TRUE(credentials.refused(kStart + 121s));
  EXPECT_FALSE(Credentials("fixed", "").refused(kStart));
}

class ConfigTest : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& content) {
    std::ofstream(folder.path() / name) << content;
    return folder.path() / name;
  }
  test::TempDirectory folder;
};

TEST_F(ConfigTest, APodsFilesMakeAConfig) {
  write("ca.crt", "CA");
  write("token", "t");
  write("namespace", "mine");
  const auto config = in_cluster_config("fd00::1", "443", folder.path());
  ASSERT_TRUE(config.has_value()) << config.error();
  EXPECT_EQ(config->server, "https://[fd00::1]:443");
  EXPECT_EQ(config->name_space, "mine");
  EXPECT_EQ(*config->authority.read(), "CA");
  EXPECT_FALSE(in_cluster_config("", "", folder.path()).has_value());
  std::filesystem::remove(folder.path() / "token");
  EXPECT_THAT(in_cluster_config("h", "1", folder.path()).error(), HasSubstr("ServiceAccount"));
}

TEST_F(ConfigTest, AKubeconfigsContextsLeadToDataAndFiles) {
  write("c.crt", "CERT");
  const auto file = write("config", R"(
current-context: one
contexts:
- {name: one, context: {cluster: c, user: u, namespace: n}}
- {name: two, context: {cluster: c, user: v}}
clusters:
- {name: c, cluster: {server: "https://h:6443", certificate-authority-data: Q0E=}}
users:
- {name: u, user: {client-certificate: c.crt, client-key-data: S0VZ}}
- {name: v, user: {tokenFile: /t}}
)");
  const auto one = kubeconfig(file);
  ASSERT_TRUE(one.has_value()) << one.error();
  EXPECT_EQ(one->server, "https://h:6443");
  EXPECT_EQ(one->name_space, "n");
  EXPECT_EQ(*one->authority.read(), "CA");
  EXPECT_EQ(*one->certificate.read(), "CERT");
  EXPECT_EQ(*one->key.read(), "KEY");
  EXPECT_EQ(kubeconfig(file, "two")->token_file, "/t");
  EXPECT_THAT(kubeconfig(file, "three").error(), HasSubstr("contexts has no \"three\""));
}

TEST_F(ConfigTest, WhatCannotBeUsedIsNamed) {
  const auto with_user = [this](const std::string& user, const std::string& server) {
    return kubeconfig(write("config",
                            "current-context: a\n"
                            "contexts: [{name: a, context: {cluster: c, user: u}}]\n"
                            "clusters: [{name: c, cluster: {server: '" +
                                server + "'}}]\nusers: [{name: u, user: " + user + "}]\n"));
  };
  EXPECT_TRUE(with_user("{token: t}", "https://h").has_value());
  EXPECT_THAT(with_user("{exec: {command: x}}", "https://h").error(), HasSubstr("plugins"));
  EXPECT_THAT(with_user("{client-key-data: S0VZ}", "https://h").error(), HasSubstr("certificate"));
  EXPECT_THAT(with_user("{token: t}", "http://h").error(), HasSubstr("https://"));
  EXPECT_FALSE(kubeconfig(write("config", "[")).has_value());
  EXPECT_FALSE(kubeconfig(folder.path() / "none").has_value());
}

}  // namespace
}  // namespace swage::k8s
