#include <gmock/gmock.h>

#include "common/metrics/metrics.hpp"
#include "learner/app/trajectory_store.hpp"
#include "tests/support/task_runner.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::learner {
namespace {

using test::TaskRunner;
using test::TempDirectory;
using ::testing::Each;
using ::testing::SizeIs;

/// A store over a directory, from its opening to its end.
class Opened {
 public:
  explicit Opened(const std::filesystem::path& directory) {
    AdmissionRules rules;
    rules.run_uid = "uid";
    auto opened = TrajectoryStore::open(
        directory, {run.executor(), file_thread_, *clock_, metrics_, "key", std::move(rules)});
    EXPECT_TRUE(opened) << opened.error().message;
    store = std::move(*opened);
    writer_ = run.start(store->run(stop_));
  }
  ~Opened() {
    stop_.request(StopReason::requested);
    run.wait_until([&] { return writer_->ended; });
    file_thread_.join();
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  TaskRunner run;
  std::unique_ptr<TrajectoryStore> store;

 private:
  std::unique_ptr<Clock> clock_ = make_steady_clock();
  asio::thread_pool file_thread_{1};
  Metrics registry_{{}};
  LearnerMetrics metrics_{registry_};
  StopSource stop_;
  TaskRunner::Handle<char> writer_;
};

/// An attempt lost to infrastructure: the shortest thing that is kept.
v1::Trajectory lost(const std::string& id) {
  v1::Trajectory t;
  t.set_schema_version(1);
  t.set_rollout_id(id);
  t.set_attempt(1);
  t.set_run_uid("uid");
  t.set_stage(v1::STAGE_AGENTIC);
  t.set_infrastructure_failure("worker lost");
  return t;
}

/// Submits, and notes whether the number that a checkpoint would hold is that of the first frame
/// which the ledger lacks.
Task<> submit(TrajectoryStore& store, std::string id, std::vector<bool>& agrees) {
  const auto answer = co_await store.submit(lost(id));
  EXPECT_EQ(answer.code(), v1::SUBMIT_CODE_ACCEPTED) << answer.detail();
  agrees.push_back(store.next_seq() == store.ledger().entries().size() + 1);
}

TEST(TrajectoryStore, NumbersAreUniqueAndWithoutGapsUnderManySubmissionsAndOverRestarts) {
  const TempDirectory directory;
  std::uint64_t next = 1;
  for (int life = 0; life < 3; ++life) {
    Opened opened(directory.path());
    EXPECT_EQ(opened.store->next_seq(), next);
    std::vector<bool> agrees;
    std::vector<TaskRunner::Handle<char>> under_way;
    for (int i = 0; i < 40; ++i)
      under_way.push_back(opened.run.start(
          submit(*opened.store, std::to_string(life) + "-" + std::to_string(i), agrees)));
    ASSERT_TRUE(opened.run.wait_until([&] { return agrees.size() == 40; }));
    EXPECT_THAT(agrees, Each(true));
    const auto& entries = opened.store->ledger().entries();
    ASSERT_THAT(entries, SizeIs(next + 39));
    for (std::size_t i = 0; i < entries.size(); ++i) EXPECT_EQ(entries[i].seq, i + 1);
    next += 40;
  }
}

TEST(TrajectoryStore, TwoSubmissionsOfOneRolloutAtTheSameTimeTakeOneNumber) {
  const TempDirectory directory;
  Opened opened(directory.path());
  const auto one = opened.run.start(opened.store->submit(lost("a")));
  const auto two = opened.run.start(opened.store->submit(lost("a")));
  ASSERT_TRUE(opened.run.wait_until([&] { return one->ended && two->ended; }));
  EXPECT_EQ(one->value().code(), v1::SUBMIT_CODE_ACCEPTED);
  EXPECT_EQ(two->value().code(), v1::SUBMIT_CODE_RETRY);
  EXPECT_EQ(opened.store->next_seq(), 2U);
}

}  // namespace
}  // namespace swage::learner
