#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "common/asio/process.hpp"
#include "common/base/digest.hpp"
#include "common/base/files.hpp"
#include "rollout_worker/adapters/deck_files.hpp"
#include "rollout_worker/app/token_renderer.hpp"
#include "rollout_worker/core/corpus.hpp"
#include "tests/integration/rollout_worker/world.hpp"

namespace swage::rollout_worker::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

fs::path binaries() { return environment_or("SWAGE_BIN_DIR", "build/dev/bin"); }
fs::path share() { return binaries().parent_path() / "share" / "swage"; }
fs::path tasks() { return share() / "tasks" / "builtin-cpu"; }

std::unique_ptr<Renderer> tiny() {
  auto tokenizer = policy::Tokenizer::load(share() / "tiny" / "tokenizer.json");
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return std::move(*make_token_renderer("tiny", std::move(*tokenizer)));
}

/// A real swage-sandboxd of one rollout.
class Sandboxd {
 public:
  Sandboxd(asio::any_io_executor strand, const fs::path& directory, const std::string& rollout) {
    const fs::path venv = cache_directory() / "venv";
    const fs::path torch = torch_directory(venv);
    nlohmann::json config{{"name", "sandbox-0"},
                          {"listen", address_of(directory)},
                          {"ready_file", (directory / "ready").string()},
                          {"pod_uid", "pod-" + rollout},
                          {"sandbox_token_sha256", sha256_hex(rollout)},
                          {"root_directory", (directory / "root").string()},
                          {"object_cache_directory", (directory / "cache").string()},
                          {"template_directory", (share() / "sandbox" / "template").string()},
                          {"toolchain",
                           {{"cxx", "g++"},
                            {"torch_directory", torch.string()},
                            {"python", (venv / "bin" / "python").string()}}},
                          {"agent_uid", 64123},
                          {"wall_clock_seconds", 600}};
    std::ofstream(directory / "config.json") << config.dump();
    ProcessSpec spec;
    spec.argv = {(binaries() / "swage-sandboxd").string(), "--config",
                 (directory / "config.json").string()};
    spec.env = current_environment();
    spec.log = directory / "log";
    auto started = Process::start(std::move(strand), spec);
    EXPECT_TRUE(started) << started.error().message;
    process_ = std::move(*started);
  }
  static std::string address_of(const fs::path& directory) {
    return "unix:" + (directory / "s.sock").string();
  }
  Process& process() { return *process_; }

 private:
  std::unique_ptr<Process> process_;
};

TEST(TeacherRollout, WorksThroughTheRealSandboxAndEndsWithAScore) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: two users in the sandbox";
  const auto renderer = tiny();
  World world(4, renderer.get(), tasks());
  const auto* id = "abcd1234-collect-0-0";
  Sandboxd sandboxd(world.run.executor(), world.directory.path(), id);
  auto assignment = world.assignment(id);
  const auto model = read_file(tasks() / "gelu" / "model.py");
  ASSERT_TRUE(model);
  assignment.mutable_task()->set_id("gelu");
  assignment.mutable_task()->set_device_kind("cpu");
  assignment.mutable_task()->set_source(*model);
  assignment.mutable_task()->set_digest(sha256_hex(*model));
  assignment.mutable_sandbox()->set_address(Sandboxd::address_of(world.directory.path()));
  assignment.set_actor(v1::ACTOR_TEACHER);
  assignment.set_use(v1::USE_IMITATION);
  assignment.set_teacher_card(6);
  assignment.mutable_limits()->set_wall_clock_seconds(240);
  ASSERT_TRUE(world.run.wait_until([&] { return fs::exists(world.directory.path() / "ready"); },
                                   std::chrono::seconds(60)))
      << read_file(world.directory.path() / "log").value_or("");
  world.dispatch(assignment);
  ASSERT_TRUE(world.run.wait_until([&] { return world.controller.done(id) != nullptr; },
                                   std::chrono::seconds(240)));
  const auto& done = *world.controller.done(id);
  for (const auto& lost : world.learner.diagnosis) {
    const std::vector<std::uint32_t> said(lost.token_ids().begin(), lost.token_ids().end());
    ADD_FAILURE() << renderer->decode(said) << "\n"
                  << read_file(world.directory.path() / "log").value_or("");
  }
  EXPECT_EQ(done.stop_reason(), v1::STOP_REASON_NO_TOOL_CALL) << done.infrastructure_cause();
  EXPECT_EQ(done.turns(), 6U);
  EXPECT_EQ(done.compile_count(), 1U);
  EXPECT_LE(done.tokens(), 500U);
  EXPECT_EQ(world.gpu.evaluations, 1U);  // verification and profiling share a score, which stands
  EXPECT_EQ(world.gpu.libraries, 1U);
  ASSERT_TRUE(done.delivered());
  const auto& record = world.learner.log.at(id);
  EXPECT_EQ(record.rewards(0).value(), 3.0);
  for (const auto& turn : record.turns())
    for (const auto& call : turn.calls()) EXPECT_TRUE(call.schema_valid()) << call.name();
  std::vector<std::uint32_t> ids(record.token_ids().begin(), record.token_ids().end());
  const auto text = renderer->decode(ids);
  EXPECT_THAT(text, HasSubstr("[TIME] Compilation took"));
  EXPECT_THAT(text, HasSubstr("Wrote /workspace/task/kernels/run.cpp"));
  EXPECT_THAT(text, Not(HasSubstr("FAIL")));
  RecordProperty("tokens", static_cast<int>(done.tokens()));
  sandboxd.process().signal(SIGTERM, false);
  world.run(sandboxd.process().wait());
}

TEST(TeacherTokens, EveryCardOfTheQuickstartFitsTheContextTwice) {
  const auto renderer = tiny();
  const auto ids = quickstart_tasks(tasks());
  ASSERT_TRUE(ids) << ids.error();
  EXPECT_EQ(ids->size(), 8U);
  for (const auto& id : *ids) {
    EXPECT_EQ(id.find_first_not_of("abcdefghijklmnopqrstuvwxyz"), std::string::npos) << id;
    const auto deck = read_deck(tasks() / id);
    ASSERT_TRUE(deck) << deck.error();
    EXPECT_EQ(deck->cards.size(), 8U);
    const auto model = read_file(tasks() / id / "model.py");
    ASSERT_TRUE(model);
    for (std::size_t card = 0; card < deck->cards.size(); ++card) {
      const auto size = trajectory_size(*renderer, id, *model, *deck, card);
      EXPECT_LE(size.tokens, 500U) << id << " card " << card;
      EXPECT_GE(size.tokens, 100U) << id << " card " << card;
      EXPECT_GE(4 * size.sampled, size.tokens) << id << " card " << card;
    }
  }
}

}  // namespace
}  // namespace swage::rollout_worker::test
