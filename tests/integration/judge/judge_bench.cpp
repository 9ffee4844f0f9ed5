#include "tests/integration/judge/judge_bench.hpp"

#include "common/base/check.hpp"
#include "common/base/digest.hpp"
#include "common/base/files.hpp"
#include "swage/v1/bundle.pb.h"
#include "tests/support/task_runner.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::testing {
namespace {

constexpr const char* kKey = "a key for tests only";

/// `guards_off` is read by each judge when it starts.
worker::JudgeRunnerSettings bench_settings(const std::filesystem::path& guards_off) {
  worker::JudgeRunnerSettings settings;
  settings.python = SWAGE_TEST_PYTHON;
  settings.model_host_directory = SWAGE_TEST_MODEL_HOST;
  // A script, so that one runner (and its zygote) serves the judge as it is and the testing one.
  settings.judge_binary = "/bin/sh";
  settings.judge_arguments = {"-c",
                              "if [ -s \"$1\" ]; then exec \"$2\" --guard-off=@\"$1\"; "
                              "else exec \"$3\"; fi",
                              "sh",
                              guards_off,
                              SWAGE_TEST_JUDGE_TESTING,
                              SWAGE_TEST_JUDGE};
  settings.cache_directory = cache_directory() / "judge";
  settings.verdict_key = kKey;
  settings.memory_bytes = 1ULL << 30;
  worker::choose_cores(settings);
  return settings;
}

constexpr std::chrono::minutes kPatience{8};

Task<bool> shut(judge::JudgeRunner& runner) {
  co_await runner.shut_down();
  co_return true;
}

}  // namespace

struct JudgeBench::State {
  test::TempDirectory folder;
  std::filesystem::path guards_off = folder.path() / "guards_off";
  test::TaskRunner run;
  StopSource stop;
  std::unique_ptr<judge::JudgeRunner> runner;
  int evaluations = 0;
};

JudgeBench::JudgeBench() : state_(std::make_unique<State>()) {
  auto started =
      state_->run(worker::start_judge_runner(state_->run.executor(),
                                             bench_settings(state_->guards_off), state_->stop),
                  kPatience);
  check(started.has_value(), started ? "" : started.error());
  state_->runner = std::move(*started);
}

JudgeBench::~JudgeBench() { state_->run(shut(*state_->runner), kPatience); }

v1::Verdict JudgeBench::judge(judge::Mode mode, const std::string& task_source,
                              const std::map<std::string, std::string>& files,
                              const std::string& library, bool one_machine,
                              const std::string& precision) {
  v1::Bundle bundle;
  for (const auto& [path, content] : files) {
    auto& file = *bundle.add_files();
    file.set_path(path);
    file.set_mode(0644);
    file.set_content(content);
  }
  bundle.set_id(sha256_hex(bundle.SerializeAsString()));
  bundle.set_library(library);
  judge::JudgeRequest request;
  request.request = "bench-" + std::to_string(++state_->evaluations);
  request.rollout_id = "manual-bench";
  request.mode = mode;
  request.task_id = "bench";
  request.task_source = task_source;
  request.task_digest = sha256_hex(task_source);
  request.precision = precision;
  request.one_machine = one_machine;
  request.bundle = bundle.SerializeAsString();
  const auto outcome = state_->run(
      state_->runner->run(std::move(request), [](judge::Progress) {}, state_->stop), kPatience);
  v1::Verdict verdict;
  if (!outcome) {
    verdict.set_detail("no verdict: " + std::to_string(static_cast<int>(outcome.error())));
    return verdict;
  }
  signature_holds_ = hmac_sha256(kKey, outcome->verdict) == outcome->hmac;
  check(verdict.ParseFromString(outcome->verdict), "a verdict can be read");
  return verdict;
}

void JudgeBench::switch_off(const std::string& guards) {
  check(write_file_durably(state_->guards_off, guards).has_value(), "the list can be written");
}

bool JudgeBench::clear() { return state_->run(state_->runner->clear(), kPatience); }

std::string source_file(const std::string& path) {
  const auto content = read_file(std::string(SWAGE_TEST_SOURCE) + "/" + path);
  check(content.has_value(), "a fixture is there: " + path);
  return *content;
}

std::string fixture_library() {
  const auto content = read_file(SWAGE_TEST_LIBRARY);
  check(content.has_value(), "the fixture library is there");
  return *content;
}

}  // namespace swage::testing
