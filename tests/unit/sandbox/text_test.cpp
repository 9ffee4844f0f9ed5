#include "sandbox/core/text.hpp"

#include <gmock/gmock.h>

#include "sandbox/core/shell_script.hpp"
#include "sandbox/core/tool_clock.hpp"
#include "sandbox/core/work_layout.hpp"
#include "sandbox/core/work_path.hpp"

namespace swage::sandbox {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(Text, ACutKeepsBothEndsCountsTheRestAndStaysUnderTheLimit) {
  EXPECT_EQ(cut_middle(std::string(30'000, 'x')), std::string(30'000, 'x'));
  const auto cut = cut_middle("begin" + std::string(40'000, '\xc3') + "end");
  EXPECT_LE(count_characters(cut), 30'000U);
  const auto text = cut_middle("begin" + std::string(30'000, 'x') + "end");
  EXPECT_LE(text.size(), 30'000U);
  EXPECT_TRUE(text.starts_with("begin"));
  EXPECT_TRUE(text.ends_with("end"));
  EXPECT_THAT(text, HasSubstr("[88 characters left out]"));
}

TEST(Text, AnEndlessOutputIsHeldInBoundedMemory) {
  HeadAndTail output;
  for (int i = 0; i < 2000; ++i) output.add(std::string(1000, i == 0 ? 'a' : 'b') + "\n");
  output.add("last line");
  const auto text = output.take();
  EXPECT_TRUE(text.starts_with("aaaa"));
  EXPECT_TRUE(text.ends_with("last line"));
  EXPECT_THAT(text, HasSubstr("[1972089 characters left out]"));
  EXPECT_EQ(output.take(), "");
}

TEST(WorkPath, APathIsJudgedAfterItsDotsAreResolved) {
  const AgentRoots roots;
  EXPECT_EQ(resolve_path("/workspace/task/kernels/../a.cpp", roots)->relative, "a.cpp");
  EXPECT_EQ(resolve_path("/workspace/task", roots)->relative, ".");
  EXPECT_FALSE(resolve_path("/tmp//x", roots)->in_work);
  for (const char* path : {"/workspace/task/../secret", "/workspace/tasks/a", "/etc/passwd", "/",
                           "/tmp/../etc/passwd"})
    EXPECT_THAT(resolve_path(path, roots).error(), HasSubstr("outside the work directory")) << path;
  EXPECT_THAT(resolve_path("kernels/a.cpp", roots).error(), HasSubstr("absolute"));
  EXPECT_FALSE(resolve_path(std::string("/tmp/a\0b", 8), roots));
}

TEST(WorkPath, TheNameThatAgentsAreToldIsTakenWhereverTheWorkLies) {
  const AgentRoots elsewhere{"/var/s/work", "/var/s/tmp"};
  const auto path = resolve_path("/workspace/task/kernels/a.cpp", elsewhere);
  EXPECT_EQ(path->relative, "kernels/a.cpp");
  EXPECT_EQ(path->absolute, "/var/s/work/kernels/a.cpp");
  EXPECT_EQ(resolve_path("/workspace/task", elsewhere)->absolute, "/var/s/work");
  EXPECT_EQ(resolve_path("/var/s/work/a.cpp", elsewhere)->relative, "a.cpp");
  for (const char* outside : {"/workspace/task/../x", "/workspace/tasks", "/var/s/other", "/tmp/x"})
    EXPECT_FALSE(resolve_path(outside, elsewhere)) << outside;
}

TEST(ToolClock, TimeSpentWaitingForAnEvaluationDoesNotCount) {
  const TimePoint start{};
  ToolClock clock(start);
  clock.wait_begins(start + 10s);
  clock.wait_begins(start + 20s);  // a second one overlaps
  clock.wait_ends(start + 500s);
  EXPECT_TRUE(clock.standing());
  EXPECT_EQ(clock.due(120s), TimePoint::max());
  clock.wait_ends(start + 1000s);
  EXPECT_EQ(clock.ran(start + 1005s), 15s);
  EXPECT_EQ(clock.due(120s), start + 1110s);
}

TEST(WorkLayout, OnlySourcesOfTheAgentAreHandedIn) {
  for (const char* path : {"model_new.py", "kernels/a.cpp", "kernels/a.cuh", "helper.h"})
    EXPECT_TRUE(is_handed_in(path)) << path;
  for (const char* path :
       {"model.py", "binding.cpp", "utils/x.py", "SKILL.md", "notes.md", "build/a.cpp",
        "kernels/deep/a.cpp", ".hidden.py", "kernels/.a.cpp", "a b.cpp", "../a.cpp", "a.so"})
    EXPECT_FALSE(is_handed_in(path)) << path;
}

TEST(WorkLayout, TheInstructionsAreCutToTheDeviceKind) {
  const char* text =
      "all\n<!-- if cuda -->\ngpu\n<!-- end -->\n<!-- if cpu -->\ncpu\n<!-- end -->\nall\n";
  EXPECT_EQ(for_device_kind(text, "cpu"), "all\ncpu\nall\n");
  EXPECT_EQ(for_device_kind(text, "cuda"), "all\ngpu\nall\n");
}

TEST(ShellScript, AFilterKeepsMatchingLinesAndABadOneIsKnown) {
  EXPECT_EQ(filter_lines("one\ntwo\nthree", "^t"), "two\nthree\n");
  EXPECT_TRUE(is_filter("^t"));
  EXPECT_FALSE(is_filter("("));
  EXPECT_EQ(filter_lines("t\xff\none\n", "t"), "t\xff\n");
  EXPECT_EQ(filter_lines(std::string(40, 'a') + "b\n", "(a+)+$"), "");  // would take for ever
}

TEST(ShellScript, AnAnswerSaysHowTheCommandEnded) {
  EXPECT_EQ(shell_answer("", 0).text, "(no output)");
  EXPECT_EQ(shell_answer("x", 3 << 8).text, "x\n[exit code 3]");
  EXPECT_EQ(shell_answer("x\n", 9).text, "x\n[ended by signal 9]");
  EXPECT_THAT(shell_timeout("partial\n", 500).text, HasSubstr("partial\n[timed out after 500 ms"));
}

}  // namespace
}  // namespace swage::sandbox
