#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/judge/judge_bench.hpp"

namespace swage::testing {
namespace {

using judge::Mode;
using ::testing::HasSubstr;

const std::string kChain = "tests/integration/judge/fixtures/chain.py";
const std::string kBusy = "tests/attacks/tasks/busy.py";
const std::string kLinear = "tests/attacks/tasks/linear.py";

/// One bench for all cases of this program: its zygote takes seconds to warm up.
class Judge : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { shared_ = std::make_unique<JudgeBench>(); }
  static void TearDownTestSuite() { shared_.reset(); }
  JudgeBench& bench = *shared_;

 private:
  static std::unique_ptr<JudgeBench> shared_;
};
std::unique_ptr<JudgeBench> Judge::shared_;

/// A ModelNew for the chain task whose forward has this body; `out` is a fresh result.
std::string chain_new(const std::string& body, const std::string& before = "") {
  return "import torch\nimport torch.nn as nn\nimport cuda_extension\n" + before +
         "\nclass ModelNew(nn.Module):\n"
         "    def forward(self, x):\n"
         "        out = torch.empty_like(x)\n"
         "        cuda_extension.chain(x.data_ptr(), out.data_ptr(), x.numel())\n" +
         body + "\n";
}

// The candidates of these tests use torch to be short, so they run without the policy's layers.
const std::string kPolicy = "symbols,ast,dispatch";

const std::string kRight = chain_new("        return out");

/// A ModelNew for the linear task; `extra` goes into __init__, `call` after the kernel.
std::string linear_new(const std::string& extra, const std::string& call = "") {
  return "import torch\nimport torch.nn as nn\nimport cuda_extension\n"
         "class ModelNew(nn.Module):\n"
         "    def __init__(self, inner, columns):\n"
         "        super().__init__()\n"
         "        self.linear = nn.Linear(inner, columns)\n" +
         extra +
         "    def forward(self, x):\n"
         "        w, b = self.linear.weight, self.linear.bias\n"
         "        out = torch.empty(x.shape[0], w.shape[0])\n"
         "        cuda_extension.matmul(x.data_ptr(), w.data_ptr(), b.data_ptr(), out.data_ptr(),\n"
         "                              x.shape[0], w.shape[1], w.shape[0])\n" +
         call + "        return out\n";
}

std::uint32_t voided(const v1::Verdict& verdict) {
  std::uint32_t sum = 0;
  for (const auto& [reason, count] : verdict.timing().voided()) sum += count;
  return sum;
}

struct Case {
  const char* name;
  std::string model_new;
  v1::VerdictCode code;
  const char* detail;  ///< part of it
};

/// Candidates of the chain task, one deed each.
std::vector<Case> bad_candidates() {
  using namespace v1;
  return {
      {"import fails", "import nothing_of_that_name\n", VERDICT_CODE_LOAD_ERROR,
       "nothing_of_that_name"},
      {"no class", "import torch\n", VERDICT_CODE_LOAD_ERROR, "no class ModelNew"},
      {"reference imported", "from model import Model as ModelNew\n", VERDICT_CODE_LOAD_ERROR,
       "No module named 'model'"},
      {"exits while loading", "import os\nos._exit(0)\n", VERDICT_CODE_CRASH, "exit code 0"},
      {"forward raises", chain_new("        raise ValueError('no\\x1b[31m luck')"),
       VERDICT_CODE_CRASH, "ValueError: no\\x1b[31m luck"},
      {"wild pointer", chain_new("        cuda_extension.fall()\n        return out"),
       VERDICT_CODE_CRASH, "signal 11"},
      {"leaves", chain_new("        cuda_extension.leave()\n        return out"),
       VERDICT_CODE_CRASH, "exit code 0"},
      {"takes all memory", chain_new("        cuda_extension.grab()\n        return out"),
       VERDICT_CODE_OOM, "memory"},
      {"takes all memory and does not look",
       chain_new("        cuda_extension.grab_blindly()\n        return out"), VERDICT_CODE_OOM,
       "memory limit"},
      {"falls with half of it taken",
       chain_new("        cuda_extension.grab_some_and_fall()\n        return out"),
       VERDICT_CODE_CRASH, "signal 11"},
      {"takes all memory by torch",
       chain_new("        held = [torch.empty(1 << 26) for _ in range(99)]\n        return out"),
       VERDICT_CODE_OOM, "memory"},
      {"subclass",
       chain_new("        return out.as_subclass(Odd)", "class Odd(torch.Tensor):\n    pass\n"),
       VERDICT_CODE_WRONG_METADATA, "a model_new.Odd"},
      {"parameter", chain_new("        return nn.Parameter(out)"), VERDICT_CODE_WRONG_METADATA,
       "a torch.nn.parameter.Parameter"},
      {"half precision", chain_new("        return out.half()"), VERDICT_CODE_WRONG_METADATA,
       "float16[1024, 1024] and must be float32[1024, 1024]"},
      {"other shape", chain_new("        return out[:, :1023]"), VERDICT_CODE_WRONG_METADATA,
       "float32[1024, 1023]"},
      {"foreign strides", chain_new("        return out.t().contiguous().t()"),
       VERDICT_CODE_WRONG_METADATA, "neither contiguous nor strided"},
      {"a tuple", chain_new("        return (out,)"), VERDICT_CODE_WRONG_METADATA, "container"},
      {"two results", chain_new("        return out, out"), VERDICT_CODE_WRONG_METADATA,
       "2 results"},
      {"nothing", chain_new("        return None"), VERDICT_CODE_WRONG_METADATA, "NoneType"},
      {"zeros", chain_new("        return torch.zeros_like(x)"), VERDICT_CODE_MISMATCH,
       "outside the tolerance"},
      {"one element wrong", chain_new("        out[77, 5] += 0.5\n        return out"),
       VERDICT_CODE_MISMATCH, "1 of 1048576"},
      {"not a number", chain_new("        out[3, 4] = float('nan')\n        return out"),
       VERDICT_CODE_NONFINITE, "1 of 1048576"},
      {"infinite", chain_new("        out[3, 4] = float('inf')\n        return out"),
       VERDICT_CODE_NONFINITE, "not finite"},
      {"input overwritten", chain_new("        x.zero_()\n        return out"),
       VERDICT_CODE_INPUT_MUTATED, "wrote to an input"},
      {"returns its input", chain_new("        return x"), VERDICT_CODE_ALIASED, "input"},
      {"one buffer for all calls",
       chain_new("        kept.copy_(out)\n        return kept",
                 "kept = torch.empty(1024, 1024)\n"),
       VERDICT_CODE_ALIASED, "earlier result"},
      {"one buffer made in the first call",
       chain_new("        if not kept:\n            kept.append(torch.empty_like(x))\n"
                 "        kept[0].copy_(out)\n        return kept[0]",
                 "kept = []\n"),
       VERDICT_CODE_ALIASED, "earlier result"},
      {"chance",
       chain_new("        cuda_extension.noise(out.data_ptr(), x.numel())\n        return out"),
       VERDICT_CODE_NONDETERMINISTIC, "two results"},
      {"writes behind its result",
       chain_new("        cuda_extension.fill(out.data_ptr() + 4 * x.numel(), 3, 0)\n"
                 "        return out"),
       VERDICT_CODE_OOB_WRITE, "outside its result"},
      {"writes before its result",
       chain_new("        cuda_extension.fill(out.data_ptr() - 8, 1, 0)\n        return out"),
       VERDICT_CODE_OOB_WRITE, "outside its result"},
  };
}

TEST_F(Judge, GivesEachBadDeedItsCode) {
  const std::string task = source_file(kChain);
  const std::string library = fixture_library();
  bench.switch_off(kPolicy);
  for (const Case& bad : bad_candidates()) {
    SCOPED_TRACE(bad.name);
    const auto verdict =
        bench.judge(Mode::verify, task, {{"model_new.py", bad.model_new}}, library);
    EXPECT_EQ(v1::VerdictCode_Name(verdict.code()), v1::VerdictCode_Name(bad.code))
        << verdict.detail() << "\n"
        << verdict.log();
    EXPECT_THAT(verdict.detail(), HasSubstr(bad.detail));
    EXPECT_THAT(verdict.detail(), ::testing::Not(HasSubstr("Traceback")));
    EXPECT_EQ(verdict.tier(), 0U);
    EXPECT_TRUE(bench.last_signature_holds());
    EXPECT_TRUE(bench.clear());
  }
  bench.switch_off("");
  const auto none = bench.judge(Mode::verify, task, {{"model_new.py", kRight}}, "");
  EXPECT_EQ(none.code(), v1::VERDICT_CODE_COMPILE_ERROR);
  const auto text = bench.judge(Mode::verify, task, {{"model_new.py", kRight}}, "not a library");
  EXPECT_EQ(text.code(), v1::VERDICT_CODE_LOAD_ERROR) << text.detail();
  const auto honest = bench.judge(Mode::verify, task, {{"model_new.py", kRight}}, library);
  EXPECT_EQ(honest.code(), v1::VERDICT_CODE_OK) << honest.detail();
  EXPECT_EQ(honest.tier(), 1U);
  EXPECT_EQ(honest.checks_size(), 10);  // five inputs, one of them twice, and four hidden ones
  EXPECT_FALSE(honest.has_reward());    // only a score decides one
  EXPECT_FALSE(honest.has_timing());
}

TEST_F(Judge, SetsTheWeightsItself) {
  const std::string task = source_file(kLinear);
  const std::string library = fixture_library();
  const auto judge = [&](const std::string& model_new) {
    return bench.judge(Mode::verify, task, {{"model_new.py", model_new}}, library);
  };
  const auto honest = judge(linear_new(""));
  EXPECT_EQ(honest.code(), v1::VERDICT_CODE_OK) << honest.detail() << honest.log();
  const auto other = judge(linear_new("        nn.init.zeros_(self.linear.weight)\n"));
  EXPECT_EQ(other.code(), v1::VERDICT_CODE_OK) << "own initialisation is overwritten";
  EXPECT_EQ(honest.checks_size(), 12);  // two more with the second set of weights
  bench.switch_off(kPolicy);
  const auto early = judge(linear_new("        self.w = self.linear.weight.detach().clone()\n",
                                      "        out = x @ self.w.t() + b.detach()\n"));
  bench.switch_off("");
  EXPECT_EQ(early.code(), v1::VERDICT_CODE_MISMATCH) << early.detail();
  const auto lacking =
      judge(linear_new("        del self.linear.bias\n"
                       "        self.linear.register_parameter('bias', None)\n"));
  EXPECT_EQ(lacking.code(), v1::VERDICT_CODE_LOAD_ERROR);
  EXPECT_THAT(lacking.detail(), HasSubstr("linear.bias"));
  const auto excess = judge(linear_new("        self.more = nn.Parameter(torch.zeros(3))\n"));
  EXPECT_EQ(excess.code(), v1::VERDICT_CODE_LOAD_ERROR);
  EXPECT_THAT(excess.detail(), HasSubstr("'more'"));
}

TEST_F(Judge, EndsCallsThatDoNotEnd) {
  const std::string second_call_hangs = chain_new(
      "        calls.append(1)\n        if len(calls) > 1:\n"
      "            cuda_extension.hang()\n        return out",
      "calls = []\n");
  const auto verdict = bench.judge(Mode::verify, source_file(kChain),
                                   {{"model_new.py", second_call_hangs}}, fixture_library());
  EXPECT_EQ(verdict.code(), v1::VERDICT_CODE_TIMEOUT) << verdict.detail();
  EXPECT_EQ(verdict.phase(), "checks");
  EXPECT_TRUE(bench.clear());
}

TEST_F(Judge, ScoresAFastCandidateAboveASlowOne) {
  const std::string task = source_file(kBusy);
  const auto judge = [&](const char* work) {
    const std::string model_new =
        "import torch\nimport torch.nn as nn\nimport cuda_extension\n"
        "class ModelNew(nn.Module):\n"
        "    def forward(self, x):\n"
        "        out = torch.empty_like(x)\n"
        "        for _ in range(" +
        std::string(work) +
        "):\n"
        "            cuda_extension.chain(x.data_ptr(), out.data_ptr(), x.numel())\n"
        "        return out\n";
    return bench.judge(Mode::score, task, {{"model_new.py", model_new}}, fixture_library());
  };
  // Other work on the machine may spoil every round: such a verdict says nothing of fast and slow.
  const auto disturbed = [](const v1::Verdict& verdict) {
    return verdict.code() == v1::VERDICT_CODE_TIMING_UNSTABLE;
  };
  const auto fast = judge("1");
  if (disturbed(fast)) GTEST_SKIP() << "the machine is disturbed: " << fast.timing().DebugString();
  EXPECT_EQ(fast.code(), v1::VERDICT_CODE_OK) << fast.DebugString();
  EXPECT_EQ(fast.tier(), 3U) << fast.timing().DebugString();
  EXPECT_EQ(fast.reward(), 3.0);
  EXPECT_EQ(fast.timing().rounds(), 12U);
  EXPECT_GT(fast.timing().eager().calibrated_us(), fast.timing().candidate().calibrated_us());
  EXPECT_EQ(fast.checks_size(), 10 + 12 + static_cast<int>(voided(fast)));
  const auto slow = judge("40");
  if (disturbed(slow)) GTEST_SKIP() << "the machine is disturbed: " << slow.timing().DebugString();
  EXPECT_EQ(slow.code(), v1::VERDICT_CODE_OK) << slow.DebugString();
  EXPECT_EQ(slow.tier(), 1U);
  EXPECT_EQ(slow.reward(), 1.0);
}

TEST_F(Judge, QuotesACandidatesTracebackWithoutItsOwnFramesAndBoundsIt) {
  const auto verdict =
      bench.judge(Mode::verify, source_file(kChain),
                  {{"model_new.py", chain_new("        fail(10)\n        return out",
                                              "def fail(depth):\n"
                                              "    if depth:\n"
                                              "        fail(depth - 1)\n"
                                              "    raise ValueError('\\x1b[2J' * 9999)\n")}},
                  fixture_library());
  EXPECT_EQ(verdict.code(), v1::VERDICT_CODE_CRASH);
  EXPECT_LE(verdict.detail().size(), 4096U);
  EXPECT_LE(verdict.log().size(), 16384U);
  EXPECT_THAT(verdict.detail() + verdict.log(), ::testing::Not(HasSubstr("\x1b")));
  const auto told = bench.judge(Mode::verify, source_file(kChain),
                                {{"model_new.py", chain_new("        import json\n"
                                                            "        json.loads('{')\n"
                                                            "        return out")}},
                                fixture_library());
  EXPECT_EQ(told.code(), v1::VERDICT_CODE_CRASH) << told.detail();
  EXPECT_THAT(told.log(), HasSubstr("model_new.py"));
  EXPECT_THAT(told.log(), ::testing::Not(HasSubstr("swage_model_host")));
  EXPECT_THAT(told.log(), ::testing::Not(HasSubstr("frozen importlib")));
}

TEST_F(Judge, BlamesNobodyForABundleThatCannotBeRead) {
  const auto verdict = bench.judge(Mode::score, source_file(kChain), {{"../model_new.py", kRight}},
                                   fixture_library());
  EXPECT_EQ(verdict.code(), v1::VERDICT_CODE_INFRA_ERROR) << verdict.detail();
  EXPECT_FALSE(verdict.has_reward());
}

/// Keeps the hosts' core busy half the time, ahead of everybody, until it goes.
class Disturbance {
 public:
  Disturbance() : thread_([this] { disturb(); }) {}
  ~Disturbance() {
    over_ = true;
    thread_.join();
  }
  Disturbance(const Disturbance&) = delete;
  Disturbance& operator=(const Disturbance&) = delete;

 private:
  void disturb() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(std::thread::hardware_concurrency() > 1 ? 1 : 0, &cores);
    ::sched_setaffinity(0, sizeof cores, &cores);
    sched_param ahead{};
    ahead.sched_priority = 20;  // the judge's own threads have 2
    ::sched_setscheduler(0, SCHED_FIFO, &ahead);
    using Clock = std::chrono::steady_clock;
    while (!over_) {
      const auto end = Clock::now() + std::chrono::milliseconds(2);
      while (Clock::now() < end) continue;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

TEST_F(Judge, SaysSoWhenOthersKeepDisturbingTheMeasurement) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: nobody else gets ahead of the judge";
  const std::string loop =
      "        for _ in range(50):\n"
      "            cuda_extension.chain(x.data_ptr(), out.data_ptr(), x.numel())\n"
      "        return out";
  const Disturbance other;
  const auto verdict = bench.judge(Mode::score, source_file(kBusy),
                                   {{"model_new.py", chain_new(loop)}}, fixture_library());
  EXPECT_EQ(verdict.code(), v1::VERDICT_CODE_TIMING_UNSTABLE) << verdict.DebugString();
  EXPECT_THAT(verdict.detail(), HasSubstr("disturbed by other work"));
  EXPECT_EQ(verdict.reward(), 1.0);
}

TEST_F(Judge, RefusesTasksThatCannotBeJudged) {
  const std::string head = "import torch\nimport torch.nn as nn\n";
  const std::string model = "class Model(nn.Module):\n    def forward(self, x):\n        ";
  const std::string inputs =
      "\ndef get_inputs():\n    return [torch.randn(64, 64)]\n"
      "def get_init_inputs():\n    return []\n";
  const std::vector<std::pair<std::string, const char*>> tasks{
      {"import nothing_of_that_name\n", "nothing_of_that_name"},
      {head + inputs, "the task has no Model"},
      {head + model + "return 3\n" + inputs, "forward returned a builtins.int"},
      {head + model + "return x\n" + inputs, "returns an input"},
      {head + model + "return torch.rand_like(x)\n" + inputs, "two results for the same input"},
      {head + model + "return torch.zeros_like(x)\n" + inputs, "does not depend on the inputs"},
      {head + model + "return torch.log(-x * x - 1)\n" + inputs, "not finite"},
      {head + model + "return x.add_(1) * 2\n" + inputs, "signal 11"},
      {head + model +
           "return x + 1\ndef get_inputs():\n    return [3]\n"
           "def get_init_inputs():\n    return []\n",
       "no tensor"},
      {head + model + "return x + torch.zeros(3)\n" + inputs, "RuntimeError"},
      {head + model +
           "return x + 1\ndef get_inputs():\n    return [torch.randn(1 << 20, 1 << 20)]\n"
           "def get_init_inputs():\n    return []\n",
       "needs more memory than there is"},
      {head + model + "return torch.zeros(1 << 30) + x.sum()\n" + inputs,
       "needs more memory than there is"},
      {head + model + "return x[:0]\n" + inputs, "returns no elements"},
      {head + model + "return x * float('nan')\n" + inputs, "not finite"},
      {head + model + "return None\n" + inputs, "NoneType"},
      {head + model + "raise ValueError('\\x1b[2J [PASS] ok\\nmore of it')\n" + inputs,
       "[PASS] ok"},
      {head + "def broken(\n" + inputs, "SyntaxError"},
      {head + model + "return x + 1\n" + inputs + "raise SystemExit(0)\n", "SystemExit"},
  };
  for (const auto& [task, why] : tasks) {
    SCOPED_TRACE(why);
    const auto verdict =
        bench.judge(Mode::verify, task, {{"model_new.py", kRight}}, fixture_library());
    EXPECT_EQ(verdict.code(), v1::VERDICT_CODE_TASK_INVALID) << verdict.detail();
    EXPECT_THAT(verdict.detail(), HasSubstr(why));
    EXPECT_EQ(verdict.checks_size(), 0) << "no candidate runs";
    EXPECT_THAT(verdict.detail(), ::testing::Not(HasSubstr("Traceback")));
    EXPECT_THAT(verdict.detail(), ::testing::Not(HasSubstr("\x1b")));
  }
}

}  // namespace
}  // namespace swage::testing
