#include "sandbox/core/compile_plan.hpp"

#include <gmock/gmock.h>

#include "sandbox/core/container.hpp"
#include "sandbox/core/elf_check.hpp"
#include "sandbox/core/include_scan.hpp"

namespace swage::sandbox {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<WorkFile> work() {
  return {{"binding.cpp", 0444, "#include \"binding_registry.h\"\n"},
          {"binding_registry.h", 0444, "// registry\n"},
          {"kernels/a.cpp", 0644, "#include \"a.h\"\nvoid a() {}\n"},
          {"kernels/a.h", 0644, "// header\n"},
          {"kernels/a_binding.cpp", 0644, "#include \"../binding_registry.h\"\n"},
          {"model_new.py", 0644, "pass\n"}};
}

std::vector<std::string> names(const std::vector<const WorkFile*>& files) {
  std::vector<std::string> out;
  for (const auto* file : files) out.push_back(file->path);
  return out;
}

CompilePlan plan(const std::vector<WorkFile>& files, const std::string& toolchain = "t") {
  return plan_compilation(files, "/usr/bin/g++", toolchain).value();
}

TEST(CompilePlan, BindingsSeeTorchAndKernelsDoNot) {
  const auto files = work();
  const auto made = plan(files);
  ASSERT_EQ(made.units.size(), 3U);
  EXPECT_EQ(made.units[0].kind, CompileUnit::Kind::binding);
  EXPECT_EQ(made.units[1].kind, CompileUnit::Kind::kernel);
  EXPECT_EQ(made.units[2].kind, CompileUnit::Kind::binding);
  EXPECT_THAT(made.units[1].argv, Contains("-O3"));
  EXPECT_THAT(made.units[1].argv, Not(Contains("-include")));
  EXPECT_THAT(made.units[2].argv, Contains("-include"));
}

TEST(CompilePlan, TheTemplatesUnitIsTheSameInEveryPlan) {
  const auto files = work();
  const std::vector<WorkFile> pristine{files[0], files[1]};
  const auto usual = template_units(pristine, "/usr/bin/g++", "t");
  ASSERT_EQ(usual.size(), 1U);
  EXPECT_EQ(usual[0].key, plan(files).units[0].key);
  EXPECT_NE(template_units(pristine, "/usr/bin/g++", "other")[0].key, usual[0].key);
}

TEST(CompilePlan, CudaSourcesGoToNvccWhereThereIsOne) {
  auto files = work();
  files[2] = {"kernels/a.cu", 0644, "__global__ void a() {}\n"};
  const auto made = plan_compilation(files, "/usr/bin/g++", "t", true).value();
  ASSERT_EQ(made.units.size(), 3U);
  EXPECT_EQ(made.units[1].kind, CompileUnit::Kind::cuda);
  EXPECT_THAT(made.units[1].argv, Contains("arch=compute_90a,code=sm_90a"));
  EXPECT_THAT(made.link_argv, Contains("-l:libcudart.so.13"));
  const auto without = plan(files);
  EXPECT_EQ(without.units.size(), 2U);
  EXPECT_THAT(without.link_argv, Not(Contains("-l:libcudart.so.13")));
}

TEST(CompilePlan, AChangedKernelLeavesTheBindingsObjectsInTheCache) {
  const auto before_files = work();
  auto after_files = work();
  after_files[2].content += "// changed\n";
  after_files[5].content += "# changed\n";
  const auto before = plan(before_files), after = plan(after_files);
  EXPECT_EQ(before.units[0].key, after.units[0].key);
  EXPECT_NE(before.units[1].key, after.units[1].key);
  EXPECT_EQ(before.units[2].key, after.units[2].key);
  EXPECT_NE(before.library_key, after.library_key);
}

TEST(CompilePlan, AKeyDependsOnWorkspaceHeadersAndOnTheToolchain) {
  const auto before_files = work();
  auto after_files = work();
  after_files[3].content += "// changed\n";
  EXPECT_NE(plan(before_files).units[1].key, plan(after_files).units[1].key);
  EXPECT_EQ(plan(before_files).units[2].key, plan(after_files).units[2].key);
  EXPECT_NE(plan(before_files).units[1].key, plan(before_files, "other").units[1].key);
}

TEST(CompilePlan, WithoutASourceOfTheAgentThereIsNothingToCompile) {
  const std::vector<WorkFile> only_ours{work()[0], work()[1]};
  EXPECT_THAT(plan_compilation(only_ours, "g++", "t").error(), HasSubstr("nothing to compile"));
  EXPECT_TRUE(plan_compilation(work(), "g++", "t"));
}

TEST(IncludeScan, FollowsIncludesAndNothingElse) {
  const auto files = work();
  EXPECT_THAT(names(visible_files(files, files[2])), ElementsAre("kernels/a.cpp", "kernels/a.h"));
  EXPECT_THAT(names(visible_files(files, files[4])),
              ElementsAre("binding_registry.h", "kernels/a_binding.cpp"));
}

TEST(IncludeScan, AnIncludeWhoseNameAMacroMakesMayBeAnyFile) {
  auto files = work();
  files[2].content = "#define H <a.h>\n#include H\n";
  EXPECT_EQ(visible_files(files, files[2]).size(), files.size());
  files[2].content = "#include \\\n  \"a.h\"\n";  // the name on the next line is found
  EXPECT_EQ(visible_files(files, files[2]).size(), 2U);
}

TEST(Diagnostics, ShowTheAgentsOwnPathsAndNoMoreThanTheLimit) {
  EXPECT_EQ(tidy_diagnostics("/src/kernels/a.cpp:3:5: error: x\n"),
            "kernels/a.cpp:3:5: error: x\n");
  EXPECT_LE(tidy_diagnostics(std::string(1 << 20, 'x')).size(), std::size_t{64} << 10);
  EXPECT_LE(tidy_diagnostics(std::string(1 << 20, '\xff')).size(), std::size_t{64} << 10);
}

TEST(ElfCheck, AFileThatIsNoLibraryIsRefusedWithoutReadingPastItsEnd) {
  EXPECT_FALSE(read_elf(""));
  EXPECT_FALSE(
      read_elf("\x7f"
               "ELF"));
  std::string wild(64, '\xff');
  wild.replace(0, 4,
               "\x7f"
               "ELF");
  wild[4] = 2;
  wild[16] = 3;
  wild[17] = 0;
  wild[18] = 62;
  wild[19] = 0;
  EXPECT_FALSE(read_elf(wild));
}

TEST(ElfCheck, ALibraryIsJudgedByWhatItExportsAndLacks) {
  ElfSummary good;
  good.exported = {"PyInit_cuda_extension"};
  good.undefined = {"PyList_New", "_ZN2at5emptyE"};
  EXPECT_TRUE(check_extension(good, {"_ZN2at5emptyE"}));
  EXPECT_THAT(check_extension(good, {}).error(), HasSubstr("undefined symbol `_ZN2at5emptyE`"));
  auto bad = good;
  bad.exported.clear();
  EXPECT_THAT(check_extension(bad, {"_ZN2at5emptyE"}).error(), HasSubstr("no module"));
  bad = good;
  bad.has_run_path = true;
  EXPECT_FALSE(check_extension(bad, {"_ZN2at5emptyE"}));
  bad = good;
  bad.executable_stack = true;
  EXPECT_FALSE(check_extension(bad, {"_ZN2at5emptyE"}));
}

TEST(Container, SeesOnlyWhatIsMountedAndGivesUpEveryCapability) {
  ContainerSpec spec;
  spec.command = {"/bin/true"};
  spec.mounts = {{Mount::Kind::read_only, "/a", "/b"}};
  spec.inner_uid = 7;
  const auto argv = bwrap_argv(spec, {});
  EXPECT_THAT(argv, Contains("--unshare-net"));
  EXPECT_THAT(argv, Contains("--unshare-user"));
  EXPECT_THAT(argv, Not(Contains("--cap-add")));
  EXPECT_EQ(argv.back(), "/bin/true");
  spec.user_namespace = false;
  spec.may_switch_user = true;
  EXPECT_THAT(bwrap_argv(spec, {}), Contains("CAP_SETUID"));
  EXPECT_THAT(bwrap_argv(spec, {}), Not(Contains("--unshare-user")));
}

}  // namespace
}  // namespace swage::sandbox
