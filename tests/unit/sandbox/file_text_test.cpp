#include "sandbox/core/file_text.hpp"

#include <gmock/gmock.h>

namespace swage::sandbox {
namespace {

using testing::HasSubstr;

TEST(FileText, LinesAreNumberedAsCatDoes) {
  EXPECT_EQ(show_lines("a\nb", {}), "     1\ta\n     2\tb\n");
  EXPECT_EQ(show_lines("a\n\nb\n", {2, 1}),
            "     2\t\n(1 more lines; Read again with offset 3.)\n");
  EXPECT_THAT(show_lines("", {}), HasSubstr("empty"));
  EXPECT_THAT(show_lines("a\n", {5, 10}), HasSubstr("only 1 lines"));
  EXPECT_EQ(show_lines(std::string(2000, 'x'), {}).size(), 7U + 2000 + 1);
  EXPECT_THAT(show_lines(std::string(2001, 'x'), {}), HasSubstr("[line cut]"));
}

TEST(FileText, ReadShowsWholeLinesUpToAnObservationAndSaysWhereToGoOn) {
  const auto many_short = [] {
    std::string out;
    for (int i = 0; i < 3000; ++i) out += "x\n";
    return out;
  }();
  const auto shown = show_lines(many_short, {});
  EXPECT_THAT(shown, HasSubstr("  2000\tx\n(1000 more lines; Read again with offset 2001.)"));

  std::string long_lines;
  for (int i = 0; i < 100; ++i) long_lines += std::string(1000, 'y') + "\n";
  const auto first = show_lines(long_lines, {});
  EXPECT_LE(first.size(), 30'000U + 100);
  EXPECT_THAT(first, HasSubstr("    29\ty"));
  EXPECT_THAT(first, HasSubstr("(71 more lines; Read again with offset 30.)"));
  EXPECT_THAT(show_lines(long_lines, {30, 2}), HasSubstr("    31\ty"));
}

TEST(FileText, ABinaryIsToldFromText) {
  EXPECT_TRUE(is_binary(std::string("ELF\0", 4)));
  EXPECT_FALSE(is_binary("text\n"));
}

TEST(FileText, ANotebookIsShownByCell) {
  const auto shown = show_notebook(
      R"({"cells":[{"cell_type":"code","source":["a = 1\n","a"],"outputs":[{"data":{"text/plain":"1"}}]}]})");
  EXPECT_EQ(*shown, "<cell 0 code>\na = 1\na\n<output>\n1\n");
  EXPECT_FALSE(show_notebook("[]"));
}

TEST(FileText, AnEditMustMatchExactlyOnceUnlessAllAreMeant) {
  EXPECT_EQ(*apply_edit("a b c", {"b", "x", false}), "a x c");
  EXPECT_EQ(*apply_edit("a a", {"a", "aa", true}), "aa aa");
  EXPECT_THAT(apply_edit("a a", {"a", "b", false}).error(), HasSubstr("occurs 2 times"));
  EXPECT_THAT(apply_edit("a", {"b", "c", false}).error(), HasSubstr("not in the file"));
  EXPECT_THAT(apply_edit("a", {"a", "a", false}).error(), HasSubstr("the same"));
}

TEST(FileText, SeveralEditsAreMadeInOrderOrNotAtAll) {
  EXPECT_EQ(*apply_edits("a", {{"a", "b", false}, {"b", "c", false}}), "c");
  EXPECT_THAT(apply_edits("a", {{"a", "b", false}, {"a", "c", false}}).error(),
              HasSubstr("Edit 2 of 2 failed and none was made"));
}

TEST(FileText, AChangeIsShownWithTheLinesAroundIt) {
  EXPECT_EQ(show_change("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nX\n6\n7\n8\n9\n"),
            "     2\t2\n     3\t3\n     4\t4\n     5\tX\n     6\t6\n     7\t7\n     8\t8\n");
  EXPECT_EQ(show_change("a", ""), "");
}

TEST(FileText, PatternsMatchAsShellsDo) {
  EXPECT_TRUE(glob_matches("kernels/*.cpp", "kernels/a.cpp"));
  EXPECT_FALSE(glob_matches("*.cpp", "kernels/a.cpp"));
  EXPECT_TRUE(glob_matches("**/*.cpp", "kernels/a.cpp"));
  EXPECT_TRUE(glob_matches("**/*.cpp", "a.cpp"));
  EXPECT_TRUE(glob_matches("**/*.{cpp,h}", "x/y/a.h"));
  EXPECT_FALSE(glob_matches("**/*.{cpp,h}", "x/y/a.py"));
  const std::string hard = "**/**/**/**/**/**/**/**/**/**/x";
  std::string deep = "a";
  for (int i = 0; i < 60; ++i) deep += "/a";
  EXPECT_FALSE(glob_matches(hard, deep));  // and ends
}

}  // namespace
}  // namespace swage::sandbox
