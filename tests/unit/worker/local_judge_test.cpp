#include "gpu_pool/worker/app/local_judge.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "sandbox/adapters/rooted_files.hpp"
#include "sandbox/api/work_layout.hpp"
#include "swage/v1/bundle.pb.h"
#include "tests/support/fake_judge_runner.hpp"
#include "tests/support/task_runner.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::worker {
namespace {

namespace fs = std::filesystem;
using sandbox::CompileError;
using sandbox::CompileOutcome;
using sandbox::WorkFile;

/// Makes the same library of anything.
class FakeCompiler final : public sandbox::CompileService {
 public:
  Task<Result<CompileOutcome, CompileError>> compile(std::vector<WorkFile> files,
                                                     StopSource&) override {
    compiled = std::move(files);
    CompileOutcome out;
    out.compiled = true;
    out.library = "a library";
    co_return out;
  }
  std::vector<WorkFile> compiled;
};

void write(const fs::path& path, const std::string& content) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << content;
}

class LocalJudge : public testing::Test {
 protected:
  LocalJudge() {
    for (const char* name : {"binding.cpp", "binding_registry.h", "SKILL.md"})
      write(pristine_ / name, std::string("pristine ") + name);
    write(place_.path() / "task/model.py", "the task");
  }
  /// What a sandbox makes of the folder.
  std::vector<WorkFile> files_of_a_sandbox() const {
    auto collected = sandbox::RootedFiles({work_.string(), place_.path().string()}).collect();
    EXPECT_TRUE(collected);
    std::vector<WorkFile> pristine{{"model.py", 0444, "the task"}};
    for (const char* name : {"binding.cpp", "binding_registry.h"})
      pristine.push_back({name, 0444, std::string("pristine ") + name});
    return sandbox::bundle_files(std::move(pristine), std::move(*collected));
  }
  v1::Bundle judged() {
    LocalSolution what;
    what.task = place_.path() / "task/model.py";
    what.solution = work_;
    what.pristine = pristine_;
    judge_.immediate = true;
    const auto verdict =
        run_(judge_locally(run_.executor(), what, compiler_, judge_, [](auto) {}, stop_));
    EXPECT_TRUE(verdict) << verdict.error();
    v1::Bundle bundle;
    EXPECT_TRUE(bundle.ParseFromString(judge_.last.bundle));
    return bundle;
  }

  test::TempDirectory place_;
  const fs::path work_ = place_.path() / "work";
  const fs::path pristine_ = place_.path() / "pristine";
  test::TaskRunner run_;
  FakeCompiler compiler_;
  test::FakeJudgeRunner judge_{run_.executor()};
  StopSource stop_;
};

TEST_F(LocalJudge, AFolderGivesTheSameBundleAsInASandbox) {
  for (const char* name :
       {"model_new.py", "helper.py", "a.inc", "kernels/a.cpp", "kernels/a.cu", "kernels/b.cc",
        "kernels/c.inl", "kernels/d.cuh", "kernels/e.hpp", "kernels/f.h"})
    write(work_ / name, std::string("the agent's ") + name);
  // None of these is handed in.
  for (const char* name :
       {"model.py", "binding.cpp", "SKILL.md", "utils/desk.py", "notes.txt", ".hidden.py",
        "kernels/.hidden.cpp", "kernels/deep/g.cpp", "other/h.py", "with space.py"})
    write(work_ / name, "not handed in");
  write(place_.path() / "elsewhere.py", "not handed in");
  fs::create_symlink(place_.path() / "elsewhere.py", work_ / "link.py");
  fs::permissions(work_ / "helper.py", fs::perms::owner_read);

  const auto expected = files_of_a_sandbox();
  const auto bundle = judged();
  std::vector<std::string> paths;
  for (const auto& file : bundle.files()) paths.push_back(file.path());
  EXPECT_THAT(paths, testing::ElementsAre("a.inc", "binding.cpp", "binding_registry.h", "helper.py",
                                          "kernels/a.cpp", "kernels/a.cu", "kernels/b.cc",
                                          "kernels/c.inl", "kernels/d.cuh", "kernels/e.hpp",
                                          "kernels/f.h", "model.py", "model_new.py"));
  EXPECT_EQ(bundle.id(), sandbox::bundle_id(expected, "a library"));
  EXPECT_EQ(compiler_.compiled, expected);
  for (const auto& file : bundle.files())
    EXPECT_THAT(file.content(), testing::Not(testing::HasSubstr("not handed in"))) << file.path();
}

TEST_F(LocalJudge, AFolderOfKernelsThatIsALinkIsFollowedByNeither) {
  write(work_ / "model_new.py", "new");
  write(place_.path() / "elsewhere/a.cpp", "not handed in");
  fs::create_directory_symlink(place_.path() / "elsewhere", work_ / "kernels");
  const auto expected = files_of_a_sandbox();
  EXPECT_EQ(judged().id(), sandbox::bundle_id(expected, "a library"));
  EXPECT_EQ(expected.size(), 4U);
}

}  // namespace
}  // namespace swage::worker
