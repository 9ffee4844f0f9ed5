#include <gmock/gmock.h>

#include <future>

#include "common/base/files.hpp"
#include "common/k8s/discover.hpp"
#include "common/k8s/elector.hpp"
#include "common/k8s/event_recorder.hpp"
#include "common/k8s/informer.hpp"
#include "tests/support/task_runner.hpp"

namespace swage::k8s {
namespace {

using namespace std::chrono_literals;
using test::TaskRunner;
using ::testing::Contains;
using ::testing::HasSubstr;

const ResourceType kNamespaces{"", "v1", "namespaces", "Namespace", false};
const ResourceType kConfigMaps{"", "v1", "configmaps", "ConfigMap"};
const ResourceType kDeployments{"apps", "v1", "deployments", "Deployment"};
const ResourceType kAccounts{"", "v1", "serviceaccounts", "ServiceAccount"};

struct Data {
  std::string value;
  static Data from(const Json& object) {
    return {object.value("data", Json::object()).value("v", "")};
  }
};

/// The client against a real API server (tests/cluster), in a namespace of the test's own.
class ClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto root =
        environment_or("SWAGE_CLUSTER_DIR", "/var/tmp/swage-test-cluster") + "/kubeconfig";
    if (!std::filesystem::exists(root)) GTEST_SKIP() << "no test cluster is up: make cluster-up";
    const auto read = kubeconfig(root);
    ASSERT_TRUE(read.has_value()) << read.error();
    config = *read;
    transport = make_rest_transport(config, *clock);
    client = std::make_unique<Client>(*transport, *clock);
    name_space = "client-" + std::to_string(unix_ms());
    const auto made = run(client->create({kNamespaces, ""}, named(name_space), soon(), stop));
    ASSERT_TRUE(made.has_value()) << made.error().message;
  }
  void TearDown() override {
    if (!client) return;
    StopSource last;
    EXPECT_TRUE(run(client->remove({kNamespaces, "", name_space}, {}, soon(), last)).has_value());
  }
  /// Runs a task beside the test, and ends it before what it uses goes: declared after that.
  class Beside {
   public:
    Beside(ClusterTest& test, Task<> task) : test_(test), task_(test.run.start(std::move(task))) {}
    ~Beside() {
      test_.stop.request(StopReason::requested);
      EXPECT_TRUE(test_.run.wait_until([this] { return task_->ended; }));
    }
    Beside(const Beside&) = delete;
    Beside& operator=(const Beside&) = delete;

   private:
    ClusterTest& test_;
    TaskRunner::Handle<char> task_;
  };
  TimePoint soon() const { return clock->now() + 20s; }
  static Json named(const std::string& name, const std::string& value = "") {
    Json object{{"metadata", {{"name", name}}}};
    if (!value.empty()) object["data"] = {{"v", value}};
    return object;
  }
  Target map(const std::string& name = "") { return {kConfigMaps, name_space, name}; }
  Result<Json, Error> create(const std::string& name, const std::string& value) {
    return run(client->create(map(), named(name, value), soon(), stop));
  }
  static std::string version(const Result<Json, Error>& object) {
    return meta_of(*object).resource_version;
  }

  TaskRunner run;
  std::unique_ptr<Clock> clock = make_steady_clock();
  StopSource stop;
  Config config;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Client> client;
  std::string name_space;
};

TEST_F(ClusterTest, AnObjectIsCreatedReadPatchedReplacedAndRemoved) {
  const auto made = create("a", "1");
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(create("a", "1").error().code, Errc::conflict);

  auto patch = named("a", "2");
  patch["metadata"]["resourceVersion"] = version(made);
  const auto patched = run(client->merge_patch(map("a"), "", patch, soon(), stop));
  ASSERT_TRUE(patched.has_value()) << patched.error().message;
  const auto late = run(client->merge_patch(map("a"), "", patch, soon(), stop));
  EXPECT_EQ(late.error().code, Errc::conflict);

  auto whole = *patched;
  whole["data"]["v"] = "3";
  EXPECT_TRUE(run(client->replace(map("a"), whole, soon(), stop)).has_value());
  EXPECT_EQ(run(client->get(map("a"), soon(), stop))->at("data").at("v"), "3");

  EXPECT_TRUE(run(client->remove(map("a"), {"another-uid"}, soon(), stop)).has_value());
  EXPECT_TRUE(run(client->get(map("a"), soon(), stop)).has_value());
  EXPECT_TRUE(run(client->remove(map("a"), {meta_of(*made).uid}, soon(), stop)).has_value());
  EXPECT_EQ(run(client->get(map("a"), soon(), stop)).error().code, Errc::not_found);
  EXPECT_TRUE(run(client->remove(map("a"), {}, soon(), stop)).has_value());
}

TEST_F(ClusterTest, AnInvalidObjectIsRefusedWithAReasonForPeople) {
  const auto made = create("Not A Name", "1");
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, Errc::invalid);
  EXPECT_THAT(made.error().message, HasSubstr("metadata.name"));
}

TEST_F(ClusterTest, AnApplyDoesNotTakeAnothersFieldAndNamesItsOwner) {
  const auto mine = [this](const std::string& value, const std::string& manager) {
    return run(client->apply(map("shared"), "", named("shared", value), manager, soon(), stop));
  };
  ASSERT_TRUE(mine("1", "first").has_value());
  EXPECT_TRUE(mine("2", "first").has_value());
  const auto refused = mine("3", "second");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::conflict);
  EXPECT_THAT(refused.error().managers, Contains("first"));
}

TEST_F(ClusterTest, StatusAndScaleAreSubresources) {
  const Json deployment = {{"metadata", {{"name", "d"}}},
                           {"spec",
                            {{"replicas", 0},
                             {"selector", {{"matchLabels", {{"a", "b"}}}}},
                             {"template",
                              {{"metadata", {{"labels", {{"a", "b"}}}}},
                               {"spec",
                                {{"containers", Json::array({{{"name", "c"}, {"image", "none"}}})},
                                 {"nodeName", "nowhere"}}}}}}}};
  const Target target{kDeployments, name_space, "d"};
  ASSERT_TRUE(run(client->create(target, deployment, soon(), stop)).has_value());
  const auto scaled = run(client->patch_scale(target, 2, soon(), stop));
  ASSERT_TRUE(scaled.has_value()) << scaled.error().message;
  EXPECT_EQ(run(client->get(target, soon(), stop))->at("spec").at("replicas"), 2);
  const Json condition{{"type", "Progressing"}, {"status", "True"}, {"reason", "Test"}};
  const Json status{{"conditions", Json::array({condition})}};
  const auto written = run(client->patch_status(target, status, soon(), stop));
  ASSERT_TRUE(written.has_value()) << written.error().message;
  // spec cannot be changed that way.
  const Json sneaky{{"spec", {{"replicas", 7}}}};
  EXPECT_TRUE(run(client->merge_patch(target, "status", sneaky, soon(), stop)).has_value());
  EXPECT_EQ(run(client->get(target, soon(), stop))->at("spec").at("replicas"), 2);
}

TEST_F(ClusterTest, AListComesInPages) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(create("m" + std::to_string(i), "x").has_value());
  const auto page = [this](const std::string& token) {
    return run(client->list(map(), {{}, "", token, 2}, soon(), stop));
  };
  std::size_t items = 0;
  std::string token;
  do {
    const auto part = page(token);
    ASSERT_TRUE(part.has_value()) << part.error().message;
    EXPECT_LE(part->items.size(), 2U);
    items += part->items.size();
    token = part->continue_token;
  } while (!token.empty());
  EXPECT_EQ(items, 6U);  // and kube-root-ca.crt
}

TEST_F(ClusterTest, AListFromAVersionOnHasWhatCameAfterIt) {
  const auto before = create("before", "1");
  const auto after = create("after", "2");
  ASSERT_TRUE(before.has_value() && after.has_value());
  const auto page = run(client->list(map(), {{}, version(before), "", 500}, soon(), stop));
  ASSERT_TRUE(page.has_value()) << page.error().message;
  EXPECT_FALSE(older(page->resource_version, version(after)));
  EXPECT_EQ(page->items.size(), 3U);  // and kube-root-ca.crt
}

TEST_F(ClusterTest, AnInformerFollowsTheObjectsAndOwnWritesAreWaitedFor) {
  ASSERT_TRUE(create("before", "1").has_value());
  Informer<Data> informer(run.executor(), *client, map(), {"", "metadata.name!=kube-root-ca.crt"},
                          nullptr);
  const Beside following(*this, informer.run(stop));
  ASSERT_TRUE(run.wait_until([&] { return informer.synced(); }));
  const auto made = create("after", "2");
  ASSERT_TRUE(run(informer.wait_for(version(made), stop)));
  EXPECT_EQ(informer.objects().at(name_space + "/after").value.value, "2");
  ASSERT_TRUE(run(client->remove(map("before"), {}, soon(), stop)).has_value());
  EXPECT_TRUE(run.wait_until([&] { return informer.objects().size() == 1; }));
  EXPECT_EQ(informer.reflector().counts().lists, 1);
}

TEST_F(ClusterTest, ARevisionAheadAndABrokenTokenAreTheErrorsThatTheyAreTakenFor) {
  // The API server's own words for "ahead": the error kinds of the pure tests are the real ones.
  const auto ahead = run(client->list(map(), {{}, "999999999", "", 500}, soon(), stop));
  ASSERT_FALSE(ahead.has_value());
  EXPECT_TRUE(revision_is_ahead(ahead.error())) << ahead.error().message;
  const auto bad = run(client->list(map(), {{}, "", "bm9uc2Vuc2U", 500}, soon(), stop));
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().code, Errc::invalid);
}

TEST_F(ClusterTest, AnAccountsTokenIsItsIdentityAndRbacDecides) {
  ASSERT_TRUE(run(client->create({kAccounts, name_space}, named("me"), soon(), stop)).has_value());
  const auto path = path_of(kAccounts, name_space, "me", "token");
  const auto answer = run(
      client->send({"POST", path,
                    R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}})"},
                   soon(), stop));
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  Config mine;
  mine.server = config.server;
  mine.authority = config.authority;
  mine.token = Json::parse(*answer).at("status").at("token").get<std::string>();
  const auto own = make_rest_transport(mine, *clock);
  Client limited(*own, *clock);
  const auto refused = run(limited.list(map(), {}, soon(), stop));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::forbidden);
  mine.token = "nonsense";
  const auto nobody = make_rest_transport(mine, *clock);
  Client unknown(*nobody, *clock);
  EXPECT_EQ(run(unknown.list(map(), {}, soon(), stop)).error().code, Errc::unauthorized);
}

TEST_F(ClusterTest, TypesAreDiscovered) {
  const auto types = run(discover(*client, "apps", soon(), stop));
  ASSERT_TRUE(types.has_value()) << types.error().message;
  EXPECT_THAT(*types, Contains(::testing::Field(&ResourceType::plural, "deployments")));
  EXPECT_EQ(run(discover(*client, "extensions.agents.x-k8s.io", soon(), stop)).error().code,
            Errc::not_found);
}

TEST_F(ClusterTest, EventsOfOneReasonBecomeOneObjectWithACount) {
  const auto made = create("subject", "1");
  EventRecorder recorder(run.executor(), *client, "swage.dev/test", "me");
  const Beside writing(*this, recorder.run(stop));
  const EventSubject subject{"v1", "ConfigMap", name_space, "subject", meta_of(*made).uid};
  for (int i = 0; i < 3; ++i) recorder.note({subject, "Tested", "it was tested", false});
  ASSERT_TRUE(run.wait_until([&] { return recorder.written() == 1; }));
  ASSERT_TRUE(run.wait_until([&] { return recorder.written() == 2; }));  // ten seconds later
  EXPECT_EQ(recorder.dropped(), 0);
  const ResourceType events{"events.k8s.io", "v1", "events", "Event"};
  const auto list = run(client->list({events, name_space}, {}, soon(), stop));
  ASSERT_TRUE(list.has_value());
  ASSERT_EQ(list->items.size(), 1U);
  EXPECT_EQ(list->items[0].at("series").at("count"), 3);
}

TEST_F(ClusterTest, ALeaderGivesItsLeaseToTheNext) {
  const auto options = [this](const std::string& identity) {
    return ElectorOptions{config, name_space, "l", identity, identity + ":7070", {}};
  };
  std::promise<std::uint64_t> first, second;
  std::promise<std::string> seen;
  std::string told;
  Elector a(options("a"), {[&](std::uint64_t e) { first.set_value(e); }, nullptr, nullptr});
  ASSERT_EQ(first.get_future().get(), 1U);
  Elector b(options("b"), {[&](std::uint64_t e) { second.set_value(e); },
                           [&](const LeaseRecord& leader) {
                             if (told.empty()) seen.set_value(leader.address);
                             told = leader.address;
                           },
                           nullptr});
  EXPECT_EQ(seen.get_future().get(), "a:7070");
  const auto given_up = clock->now();
  a.stop();
  EXPECT_EQ(second.get_future().get(), 2U);
  EXPECT_LT(clock->now() - given_up, 2s);
}

}  // namespace
}  // namespace swage::k8s
