#include "common/k8s/reflection.hpp"

#include <gmock/gmock.h>

#include "common/k8s/store.hpp"

namespace swage::k8s {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

const TimePoint kStart{std::chrono::hours(1000)};

/// Steps as short texts, so that a test reads as the exchange with the server.
std::string text(const Reflection::Step& step) {
  if (const auto* list = std::get_if<Reflection::List>(&step))
    return "list " + list->resource_version +
           (list->continue_token.empty() ? "" : " +" + list->continue_token);
  if (const auto* watch = std::get_if<Reflection::Watch>(&step))
    return "watch " + watch->resource_version;
  return "wait";
}

class ReflectionTest : public ::testing::Test {
 protected:
  std::string next() { return text(reflection.next(0.5)); }
  Reflection::Page page(const std::string& version, const std::string& more = "") {
    return reflection.page(version, more, kStart, 0.5);
  }
  void listed(const std::string& version) {
    ASSERT_EQ(page(version), Reflection::Page::complete);
    ASSERT_EQ(next(), "watch " + version);
    reflection.watch_began(kStart);
  }
  static Error error(int status, const std::string& body = "{}") {
    return error_from(status, body, std::nullopt);
  }
  Reflection reflection;
};

TEST_F(ReflectionTest, TheFirstListTakesWhatIsInMemoryAndTheWatchGoesOnFromIt) {
  EXPECT_EQ(next(), "list 0");
  EXPECT_EQ(page("5", "t1"), Reflection::Page::more);
  EXPECT_EQ(next(), "list  +t1");
  EXPECT_EQ(page("5"), Reflection::Page::complete);
  EXPECT_EQ(next(), "watch 5");
  EXPECT_FALSE(reflection.inconsistent());
}

TEST_F(ReflectionTest, AWatchLastsBetweenFiveAndTenMinutes) {
  listed("5");
  EXPECT_EQ(std::get<Reflection::Watch>(reflection.next(0.0)).timeout, 300s);
  EXPECT_EQ(std::get<Reflection::Watch>(reflection.next(0.999)).timeout, 599s);
}

TEST_F(ReflectionTest, AnExpiredPageTokenIsReplacedByTheOneThatTheRefusalBrings) {
  next();
  page("5", "t1");
  reflection.list_failed(error(410, R"({"metadata":{"continue":"t2"}})"), kStart, 0.5);
  EXPECT_EQ(next(), "list  +t2");
  EXPECT_EQ(page("9"), Reflection::Page::complete);
  EXPECT_TRUE(reflection.inconsistent());
  EXPECT_EQ(next(), "watch 5");  // the watch brings what the later pages were ahead of
}

TEST_F(ReflectionTest, AnExpiredPageTokenWithoutAnotherStartsTheListAnewFromTheStore) {
  next();
  page("5", "t1");
  reflection.list_failed(error(410), kStart, 0.5);
  EXPECT_EQ(next(), "wait");
  EXPECT_EQ(next(), "list ");
}

TEST_F(ReflectionTest, AFailedPageIsAskedForAgain) {
  next();
  page("5", "t1");
  reflection.list_failed(error(500), kStart, 0.5);
  EXPECT_EQ(next(), "wait");
  EXPECT_EQ(next(), "list  +t1");
}

TEST_F(ReflectionTest, AWatchThatIsTooOldListsAgainNothingOlderThanWhatWasSeen) {
  listed("5");
  reflection.seen("8");
  reflection.watch_failed(error(410), kStart, 0.5);
  EXPECT_EQ(next(), "wait");
  EXPECT_EQ(next(), "list 8");
}

TEST_F(ReflectionTest, AWatchTooOldRightAfterAListListsTheStore) {
  listed("5");
  reflection.watch_failed(error(410), kStart, 0.5);
  next();
  EXPECT_EQ(next(), "list 5");  // where what is in memory may be as old
  listed("5");
  reflection.watch_failed(error(410), kStart, 0.5);
  next();
  EXPECT_EQ(next(), "list ");
  listed("9");
  reflection.seen("10");
  reflection.watch_failed(error(410), kStart, 0.5);
  next();
  EXPECT_EQ(next(), "list 10");  // that one had brought something
}

TEST_F(ReflectionTest, ARevisionAheadOfTheServerListsTheStoreAndTakesWhatItHas) {
  listed("5");
  reflection.watch_failed(error(504, R"({"message":"Too large resource version: 5"})"), kStart,
                          0.5);
  EXPECT_EQ(next(), "wait");
  EXPECT_EQ(next(), "list ");
  listed("3");  // the store was restored to an older state
}

TEST_F(ReflectionTest, ACutWatchGoesOnWhereItWasAfterAWait) {
  listed("5");
  reflection.seen("6");
  reflection.watch_failed({.code = Errc::transport}, kStart, 0.5);
  EXPECT_EQ(next(), "wait");
  EXPECT_EQ(next(), "watch 6");
}

TEST_F(ReflectionTest, AWatchThatEndsInGoodOrderGoesOnAtOnceButNotInALoop) {
  listed("5");
  reflection.seen("6");
  reflection.watch_ended(kStart, 0.5);
  EXPECT_EQ(next(), "watch 6");
  reflection.watch_began(kStart);
  reflection.watch_ended(kStart + 500ms, 0.5);
  EXPECT_EQ(next(), "wait");
  EXPECT_EQ(next(), "watch 6");
}

TEST_F(ReflectionTest, AListOlderThanWhatWasSeenIsDroppedAndTheStoreAsked) {
  listed("9");
  reflection.watch_failed(error(410), kStart, 0.5);
  next();
  EXPECT_EQ(next(), "list 9");
  EXPECT_EQ(page("4"), Reflection::Page::stale);
  EXPECT_EQ(next(), "wait");
  EXPECT_EQ(next(), "list ");
  listed("9");
}

TEST_F(ReflectionTest, ARepeatedEventDoesNotTakeTheWatchBack) {
  listed("5");
  reflection.seen("8");
  reflection.seen("7");
  EXPECT_EQ(reflection.resource_version(), "8");
}

struct Value {
  std::string text;
  static Value from(const Json& object) { return {object.value("v", "")}; }
};

class StoreTest : public ::testing::Test {
 protected:
  static Json object(const std::string& name, const std::string& uid, int version,
                     const std::string& value = "") {
    return {
        {"metadata", {{"name", name}, {"uid", uid}, {"resourceVersion", std::to_string(version)}}},
        {"v", value}};
  }
  void event(WatchEvent::Type type, const Json& json) { store.apply(type, json, note()); }
  void list(const std::vector<Json>& items) {
    store.begin_list();
    for (const auto& item : items) store.list_item(item);
    store.end_list(note());
  }
  std::function<void(const Store<Value>::Entry*, const Store<Value>::Entry*)> note() {
    return [this](const auto* before, const auto* after) {
      changes.push_back((before != nullptr ? before->meta.name + before->value.text : "-") + ">" +
                        (after != nullptr ? after->meta.name + after->value.text : "-"));
    };
  }
  Store<Value> store;
  std::vector<std::string> changes;
};

TEST_F(StoreTest, EventsChangeTheCopyAndTellBeforeAndAfter) {
  event(WatchEvent::Type::added, object("a", "u", 1, "x"));
  event(WatchEvent::Type::modified, object("a", "u", 2, "y"));
  event(WatchEvent::Type::deleted, object("a", "u", 3));
  EXPECT_THAT(changes, ElementsAre("->ax", "ax>ay", "ay>-"));
}

TEST_F(StoreTest, RepeatedAndLateEventsChangeNothing) {
  event(WatchEvent::Type::added, object("a", "u", 5, "x"));
  event(WatchEvent::Type::added, object("a", "u", 5, "x"));
  event(WatchEvent::Type::modified, object("a", "u", 4, "old"));
  event(WatchEvent::Type::deleted, object("a", "u", 3));
  event(WatchEvent::Type::deleted, object("a", "former", 6));
  event(WatchEvent::Type::deleted, object("b", "u", 6));
  EXPECT_THAT(changes, ElementsAre("->ax"));
}

TEST_F(StoreTest, AListTellsOfWhatCameWentAndWasMadeAnew) {
  list({object("a", "1", 1), object("b", "2", 1), object("c", "3", 1)});
  changes.clear();
  list({object("a", "1", 1), object("b", "9", 4), object("d", "4", 4)});
  EXPECT_THAT(changes, ::testing::UnorderedElementsAre("b>-", "c>-", "->b", "->d"));
  EXPECT_EQ(store.entries().size(), 3U);
}

TEST_F(StoreTest, AListThatIsBegunAgainForgetsTheFirstOnesItems) {
  store.begin_list();
  store.list_item(object("ghost", "1", 1));
  list({object("a", "1", 1)});
  EXPECT_THAT(changes, ElementsAre("->a"));
}

}  // namespace
}  // namespace swage::k8s
