#include "common/base/files.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "learner/adapters/checkpoint_store.hpp"
#include "learner/adapters/log_records.hpp"
#include "learner/adapters/run_state_json.hpp"
#include "learner/adapters/settings_json.hpp"
#include "learner/adapters/steps_csv.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::learner {
namespace {

namespace fs = std::filesystem;
using test::TempDirectory;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Result<void, TrainerError> fill_with(const fs::path& directory, const std::string& text) {
  fs::create_directory(directory / "policy");
  std::ofstream(directory / "policy" / "model") << text;
  return {};
}

std::vector<std::string> names(const CheckpointStore& store) {
  std::vector<std::string> out;
  for (const auto& info : store.list()) out.push_back(info.directory.filename().string());
  return out;
}

void write(CheckpointStore& store, const std::string& name, bool boundary = false,
           bool healthy = true) {
  const auto wrote = store.write(name, "{}", boundary, healthy, [&](const fs::path& directory) {
    return fill_with(directory, name);
  });
  ASSERT_TRUE(wrote) << wrote.error().message;
}

TEST(CheckpointStore, KeepsTheLastThreeBoundariesAndTheNewestHealthy) {
  const TempDirectory directory;
  auto store = *CheckpointStore::open(directory.path());
  write(store, "rft-0", true);
  write(store, "agentic-1");
  write(store, "agentic-2", false, true);
  for (const char* name : {"agentic-3", "agentic-4", "agentic-5", "agentic-6"})
    write(store, name, false, false);
  EXPECT_THAT(names(store),
              ElementsAre("agentic-6", "agentic-5", "agentic-4", "agentic-2", "rft-0"));
}

TEST(CheckpointStore, ReplacesOneOfTheSameNameAndStaysNewest) {
  const TempDirectory directory;
  auto store = *CheckpointStore::open(directory.path());
  write(store, "agentic-1");
  write(store, "agentic-2");
  write(store, "agentic-1");
  EXPECT_THAT(names(store), ElementsAre("agentic-1", "agentic-2"));
  auto again = *CheckpointStore::open(directory.path());
  write(again, "agentic-3");
  EXPECT_EQ(names(again).front(), "agentic-3");
}

TEST(CheckpointStore, SeesEveryKindOfDamage) {
  const TempDirectory directory;
  auto store = *CheckpointStore::open(directory.path());
  write(store, "a");
  const auto model = directory.path() / "a" / "policy" / "model";
  EXPECT_TRUE(CheckpointStore::verify(directory.path() / "a"));
  std::ofstream(model) << "b";  // same size
  EXPECT_THAT(CheckpointStore::verify(directory.path() / "a").error().message,
              HasSubstr("SHA-256"));
  fs::remove(model);
  EXPECT_THAT(CheckpointStore::verify(directory.path() / "a").error().message,
              HasSubstr("missing"));
  std::ofstream(directory.path() / "a" / "MANIFEST.json") << "{";
  EXPECT_EQ(CheckpointStore::verify(directory.path() / "a").error().code,
            TrainerError::Code::damaged);
  EXPECT_EQ(store.unreadable(), 1U);
}

TEST(CheckpointStore, AFailedWriteLeavesWhatWasThere) {
  const TempDirectory directory;
  auto store = *CheckpointStore::open(directory.path());
  write(store, "a");
  const auto failed = store.write("a", "{}", false, true, [](const fs::path&) {
    return Result<void, TrainerError>(
        tl::unexpected(TrainerError{TrainerError::Code::disk_full, "no space"}));
  });
  EXPECT_FALSE(failed);
  EXPECT_TRUE(CheckpointStore::verify(directory.path() / "a"));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), {}), 1);
}

TEST(CheckpointStore, RemovesWhatACrashLeftBehind) {
  const TempDirectory directory;
  fs::create_directories(directory.path() / "tmp-agentic-4" / "policy");
  const auto store = *CheckpointStore::open(directory.path());
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

RunState full_state() {
  RunState s;
  s.slot = {Stage::evaluation, 2};
  s.serial = 7;
  s.step = 3;
  s.weight_version = 12;
  s.unpublished = true;
  s.pause = Pause{"agentic-3-1", "RewardCollapse", "look at it"};
  s.reward_mean = 1.25;
  s.reward_final = -0.1;
  s.critic_history = {0.1, 0.30000000000000004};
  s.critic_monte_carlo = -0.25;
  s.passed_over = {1, 2, 3};
  s.cancelled_groups = {4, 9};
  s.guard.signals[2] = {true, 3, {1, 0, 1}};
  s.guard.best_average = 2.5;
  s.guard.first_entropies = {1, 2};
  s.guard.cooldown = 4;
  s.guard.rollbacks = 1;
  s.csv_bytes = 99;
  s.log_next = 1234;
  return s;
}

TEST(RunState, SurvivesItsText) {
  const auto text = to_text(full_state(), {"uid", "config", "tokenizer"});
  const auto saved = saved_state_from(text);
  ASSERT_TRUE(saved) << saved.error();
  EXPECT_EQ(to_text(saved->state, saved->identity), text);
  EXPECT_EQ(saved->state.slot, full_state().slot);
  EXPECT_FALSE(saved->state.reward_after_rft);
  EXPECT_TRUE(saved->state.unpublished);
  EXPECT_EQ(saved->state.critic_monte_carlo, -0.25);
  ASSERT_TRUE(saved->state.pause);
  EXPECT_EQ(saved->state.pause->id, "agentic-3-1");
  EXPECT_EQ(saved->state.pause->reason, "RewardCollapse");
  EXPECT_EQ(saved->state.critic_history, full_state().critic_history);
}

TEST(RunState, RefusesANewerSchemaAndAMissingFieldByName) {
  auto object = nlohmann::json::parse(to_text(full_state(), {"uid", "config", "tokenizer"}));
  object["schema_version"] = 3;
  EXPECT_THAT(saved_state_from(object.dump()).error(), HasSubstr("schema_version is 3"));
  object["schema_version"] = 2;
  object.erase("serial");
  EXPECT_THAT(saved_state_from(object.dump()).error(), HasSubstr("serial"));
  EXPECT_FALSE(saved_state_from("not json"));
}

TEST(RunState, OfTheSchemaBeforeIsReadAsARunThatWaitsForNothing) {
  auto object = nlohmann::json::parse(to_text(full_state(), {"uid", "config", "tokenizer"}));
  object["schema_version"] = 1;
  for (const char* field :
       {"unpublished", "pause", "critic_monte_carlo", "passed_over", "cancelled_groups"})
    object.erase(field);
  object["rate_factor"] = 0.5;
  const auto saved = saved_state_from(object.dump());
  ASSERT_TRUE(saved) << saved.error();
  EXPECT_EQ(saved->state.step, 3U);
  EXPECT_FALSE(saved->state.pause);
  EXPECT_FALSE(saved->state.unpublished);
}

TEST(LogRecords, SurviveTheirPayload) {
  const BatchRecord batch{{Stage::agentic, 0}, 4, {"a", "b"}};
  EXPECT_EQ(batch_record_from(to_payload(batch))->rollout_ids, batch.rollout_ids);
  const VersionRecord version{9, {Stage::rft, 0}, 560};
  EXPECT_EQ(version_record_from(to_payload(version))->version, 9U);
  EXPECT_EQ(version_record_from(to_payload(version))->step, 560U);
  const AbandonRecord abandon{{Stage::agentic, 0}, 2, {7, 8}};
  EXPECT_EQ(abandon_record_from(to_payload(abandon))->versions, abandon.versions);
  EXPECT_FALSE(batch_record_from("{}"));
  EXPECT_FALSE(batch_record_from(to_payload(version)));
}

TEST(StepsCsv, IsCutToWhatTheCheckpointKnew) {
  const TempDirectory directory;
  const auto file = directory.path() / "steps.csv";
  std::uint64_t known = 0;
  {
    auto csv = *StepsCsv::open(file, 0);
    ASSERT_TRUE(csv.append({.stage = "rft", .step = 1}));
    known = csv.length();
    ASSERT_TRUE(csv.append({.stage = "rft", .step = 2}));
  }
  auto csv = *StepsCsv::open(file, known);
  ASSERT_TRUE(csv.append({.stage = "rft", .step = 2, .reward_mean = 1.5}));
  const auto text = *read_file(file);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_THAT(text, HasSubstr("\nrft,2,0,0,0,1.5,"));
  const auto columns = [](const std::string& line) {
    return std::count(line.begin(), line.end(), ',');
  };
  EXPECT_EQ(columns(StepsCsv::header()), columns(StepsCsv::line({.stage = "x"})));
}

struct Parsed {
  Settings settings;
  std::vector<std::string> complaints;
};

Parsed parse(const char* text) {
  Parsed out;
  const auto object = nlohmann::json::parse(text);
  Fields fields(object, "", [&](const std::string& path, const std::string& what) {
    out.complaints.push_back(path + " " + what);
  });
  out.settings = settings_from(fields);
  fields.finish();
  return out;
}

TEST(SettingsJson, FillsFromThePresetWhatIsLeftOut) {
  const auto parsed = parse(R"({"preset": "OneMachine",
      "stages": {"agentic": {"steps": 3}, "critic": {"enabled": false}},
      "learning": {"lambda": 0.9, "advantage": "decoupled", "aggregation": "token-mean"}})");
  EXPECT_THAT(parsed.complaints, SizeIs(0));
  const auto& s = parsed.settings;
  EXPECT_EQ(s.stages.agentic.steps, 3U);
  EXPECT_EQ(s.stages.agentic.context_tokens, 1024U);
  EXPECT_FALSE(s.stages.critic.enabled);
  EXPECT_EQ(s.stages.collect.actor, CollectActor::teacher);
  EXPECT_EQ(s.learning.lambda_policy, 0.9);
  EXPECT_EQ(s.learning.lambda_value, 1.0);
  EXPECT_EQ(s.learning.aggregation, Aggregation::token_mean);
  EXPECT_EQ(parse("{}").settings.learning.batch, 1024U);
}

TEST(SettingsJson, NamesUnknownAndImpossibleFields) {
  EXPECT_THAT(parse(R"({"learning": {"bach": 4}})").complaints,
              ElementsAre(HasSubstr("learning.bach")));
  EXPECT_THAT(parse(R"({"learning": {"batch": 0}})").complaints,
              ElementsAre(HasSubstr("learning.batch")));
  EXPECT_THAT(parse(R"({"learning": {"batch": 9}})").complaints,
              ElementsAre(HasSubstr("multiple of learning.groupSize")));
  EXPECT_THAT(parse(R"({"stages": {"collect": {"actor": "Robot"}}})").complaints,
              ElementsAre(HasSubstr("stages.collect.actor")));
}

}  // namespace
}  // namespace swage::learner
