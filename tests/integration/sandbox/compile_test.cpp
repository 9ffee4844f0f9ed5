#include <gmock/gmock.h>

#include "tests/integration/sandbox/sandbox_client.hpp"

namespace swage::sandbox {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kKernel =
    "extern \"C\" void relu_kernel(const float* x, float* y, long n) {\n"
    "#pragma omp parallel for\n"
    "  for (long i = 0; i < n; ++i) y[i] = x[i] > 0 ? x[i] : 0;\n"
    "}\n";
constexpr const char* kBinding =
    "#include <torch/types.h>\n"
    "#include <torch/csrc/utils/pybind.h>\n"
    "#include \"../binding_registry.h\"\n"
    "extern \"C\" void relu_kernel(const float* x, float* y, long n);\n"
    "static torch::Tensor relu(torch::Tensor x) {\n"
    "  auto y = torch::empty_like(x);\n"
    "  relu_kernel(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());\n"
    "  return y;\n"
    "}\n"
    "static void bind(pybind11::module_& m) { m.def(\"relu\", &relu); }\n"
    "REGISTER_BINDING(relu, bind)\n";
constexpr const char* kModelNew =
    "import cuda_extension\nimport torch.nn as nn\n\n\nclass ModelNew(nn.Module):\n"
    "    def forward(self, x):\n        return cuda_extension.relu(x)\n";

class Compile : public testing::Test {
 protected:
  void SetUp() override {
#ifndef SWAGE_TEST_TORCH_DIR
    GTEST_SKIP() << "needs torch's headers: configured with SWAGE_TORCH=OFF";
#endif
    sandbox_.begin();
    write("kernels/relu.cpp", kKernel);
    write("kernels/relu_binding.cpp", kBinding);
    write("model_new.py", kModelNew);
  }
  void write(const std::string& path, const std::string& content) {
    sandbox_.bash("rm -f " + path);
    const auto result =
        sandbox_.call("Write", {{"file_path", "/workspace/task/" + path}, {"content", content}});
    EXPECT_TRUE(result.ok()) << result.text();
  }
  v1::ToolResult compile() {
    return sandbox_.bash("sudo TORCH_CUDA_ARCH_LIST=9.0 bash utils/compile.sh", 5000);
  }
  SandboxUnderTest sandbox_;
};

TEST_F(Compile, AnAgentCompilesVerifiesAndProfilesAndTheBundleIsComplete) {
  const auto compiled = compile();
  EXPECT_THAT(compiled.text(),
              testing::MatchesRegex("\\[TIME\\] Compilation took [0-9]+\\.[0-9]{2}s\n"))
      << compiled.text();
  EXPECT_EQ(compiled.compile_count(), 1U);
  EXPECT_EQ(compiled.compile_units(), 3U);

  v1::EvaluationAsk asked;
  const auto judge = [&](const v1::EvaluationAsk& ask) {
    asked = ask;
    return passing_answer(ask);
  };
  const auto verified = sandbox_.bash("python3 -m utils.verification", 60'000, judge);
  EXPECT_TRUE(verified.ok());
  EXPECT_EQ(verified.text(),
            "[PASS] check 1/5\n[PASS] check 2/5\n[PASS] check 3/5\n[PASS] check 4/5\n"
            "[PASS] check 5/5\n[PASS] verify success\n");
  EXPECT_EQ(asked.mode(), v1::EVALUATION_MODE_VERIFY);
  EXPECT_EQ(asked.work_digest(), verified.work_digest());
  EXPECT_EQ(verified.compile_count(), 0U);  // nothing changed

  const auto profiled = sandbox_.bash("sudo python3 -m utils.profiling", 60'000, judge);
  EXPECT_THAT(profiled.text(),
              StartsWith("Torch Baseline: 200.000us, Torch Compile: 100.000us, CUDA Extension: "
                         "80.000us\n"));
  EXPECT_EQ(asked.mode(), v1::EVALUATION_MODE_PROFILE);

  const auto packed = sandbox_.pack();
  EXPECT_EQ(packed.bundle().id(), asked.bundle().id());
  EXPECT_EQ(packed.bundle().compile_error(), "");
  EXPECT_THAT(packed.bundle().library(), StartsWith("\x7f"
                                                    "ELF"));
  std::vector<std::string> paths;
  for (const auto& file : packed.bundle().files()) paths.push_back(file.path());
  EXPECT_THAT(paths, testing::ElementsAre("binding.cpp", "binding_registry.h", "kernels/relu.cpp",
                                          "kernels/relu_binding.cpp", "model.py", "model_new.py"));
}

TEST_F(Compile, AnErrorIsShownWithFileAndLineAndNothingIsJudged) {
  write("kernels/relu.cpp", "extern \"C\" void relu_kernel(\n  this is no C++\n");
  const auto compiled = compile();
  EXPECT_FALSE(compiled.ok());
  EXPECT_THAT(compiled.text(), HasSubstr("kernels/relu.cpp:2:3: error:"));
  EXPECT_THAT(compiled.text(), HasSubstr("[FAIL] compilation failed\n[TIME] Compilation took"));
  const auto verified =
      sandbox_.bash("python3 -m utils.verification", 60'000, [](const v1::EvaluationAsk& ask) {
        ADD_FAILURE() << "a bundle that does not compile was judged";
        return passing_answer(ask);
      });
  EXPECT_FALSE(verified.ok());
  EXPECT_THAT(sandbox_.pack().bundle().compile_error(), HasSubstr("relu.cpp:2:3"));
}

TEST_F(Compile, ADiagnosticThatIsNotUtf8IsShownAndJudgedByNobody) {
  sandbox_.bash("printf 'int a\\377b = \"\\376\" + nothing;\\n' > kernels/relu.cpp");
  EXPECT_THAT(compile().text(), HasSubstr("kernels/relu.cpp:1:"));
  EXPECT_THAT(sandbox_.pack().bundle().compile_error(), HasSubstr("kernels/relu.cpp:1:"));
  EXPECT_TRUE(sandbox_.finish().ok());
}

TEST_F(Compile, AKernelThatIsDeclaredAndNotDefinedIsNamed) {
  write("kernels/relu.cpp", "void another_name() {}\n");
  EXPECT_THAT(compile().text(), HasSubstr("undefined symbol `relu_kernel`"));
}

TEST_F(Compile, ACompilerSeesNeitherTheMachineNorFilesThatNobodyIncludes) {
  write("kernels/relu.cpp",
        std::string(kKernel) + "#include \"/etc/passwd\"\n#include \"../model_new.py.txt\"\n");
  const auto text = compile().text();
  EXPECT_THAT(text, HasSubstr("/etc/passwd: No such file"));
  write("kernels/relu.cpp", std::string(kKernel) + "asm(\".incbin \\\"/etc/shadow\\\"\");\n");
  EXPECT_THAT(compile().text(), HasSubstr("[FAIL]"));
}

TEST_F(Compile, AnUnchangedBindingComesFromTheCache) {
  compile();
  write("kernels/relu.cpp",
        std::string(kKernel) + "// changed " + std::to_string(::getpid()) + "\n");
  const auto changed = compile();
  EXPECT_EQ(changed.compile_units(), 3U);
  EXPECT_EQ(changed.compile_cache_hits(), 2U);
  write("kernels/relu.cpp", kKernel);
  const auto back = compile();
  EXPECT_EQ(back.compile_cache_hits(), 3U);
  EXPECT_LT(back.compile_ms(), 1000U);
}

TEST_F(Compile, WaitingForAJudgementDoesNotCountAgainstTheTimeout) {
  compile();
  const auto slow = [](const v1::EvaluationAsk& ask) {
    // Longer than the tool's own time: an evaluation may wait half an hour for its lease.
    eventually([start = std::chrono::steady_clock::now()] {
      return std::chrono::steady_clock::now() - start > std::chrono::seconds(3);
    });
    return passing_answer(ask);
  };
  const auto verified = sandbox_.bash("python3 -m utils.verification", 2500, slow);
  EXPECT_TRUE(verified.ok()) << verified.text();
  EXPECT_LT(verified.wall_ms(), 2500U);
}

TEST_F(Compile, WithoutAnAnswerTheAgentIsToldThatItSaysNothing) {
  const auto verified =
      sandbox_.bash("python3 -m utils.verification", 60'000, [](const v1::EvaluationAsk& ask) {
        v1::EvaluationAnswer out;
        out.set_id(ask.id());
        out.set_error("no lease could be had");
        return out;
      });
  EXPECT_THAT(verified.text(), HasSubstr("no lease could be had"));
  EXPECT_THAT(verified.text(), EndsWith("[exit code 3]"));
}

TEST_F(Compile, FilesThatDoNotFitIntoABundleAreNamedAndNothingIsJudged) {
  sandbox_.bash("for i in 1 2 3 4 5; do head -c 1000000 /dev/zero | tr '\\0' ' ' > m$i.py; done");
  EXPECT_THAT(compile().text(), HasSubstr("larger than 4 MiB together"));
  sandbox_.bash("rm m*.py; head -c 2000000 /dev/zero > kernels/big.cpp");
  EXPECT_THAT(compile().text(), HasSubstr("`kernels/big.cpp` is larger than 1 MiB"));
  EXPECT_THAT(sandbox_.pack().bundle().compile_error(), HasSubstr("larger than 1 MiB"));
}

TEST_F(Compile, AProfileIsAScoreWhereThePresetSaysSo) {
  SandboxUnderTest scoring;
  scoring.begin(true);
  scoring.call("Write", {{"file_path", "/workspace/task/kernels/relu.cpp"}, {"content", kKernel}});
  scoring.call("Write",
               {{"file_path", "/workspace/task/kernels/relu_binding.cpp"}, {"content", kBinding}});
  v1::EvaluationMode mode = v1::EVALUATION_MODE_UNSPECIFIED;
  scoring.bash("python3 -m utils.profiling", 60'000, [&](const v1::EvaluationAsk& ask) {
    mode = ask.mode();
    return passing_answer(ask);
  });
  EXPECT_EQ(mode, v1::EVALUATION_MODE_SCORE);
}

}  // namespace
}  // namespace swage::sandbox
