#include <gmock/gmock.h>

#include "tests/integration/sandbox/sandbox_client.hpp"

namespace swage::sandbox {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Tools : public testing::Test {
 protected:
  void SetUp() override { sandbox_.begin(); }
  v1::ToolResult write(const std::string& path, const std::string& content) {
    return sandbox_.call("Write", {{"file_path", path}, {"content", content}});
  }
  v1::ToolResult read(const std::string& path) {
    return sandbox_.call("Read", {{"file_path", path}});
  }
  SandboxUnderTest sandbox_;
};

TEST_F(Tools, AShellKeepsDirectoryVariablesAndFunctions) {
  sandbox_.bash("cd kernels; X='a  b'; export Y=2; f() { echo \"f $1\"; }; A=(1 2); false");
  EXPECT_EQ(sandbox_.bash("pwd; echo \"$X\"; env | grep ^Y=; f x; echo ${A[1]}").text(),
            "/workspace/task/kernels\na  b\nY=2\nf x\n2\n");
  sandbox_.bash("cd /; exit 3");
  EXPECT_EQ(sandbox_.bash("pwd; cd - > /dev/null; pwd").text(), "/\n/workspace/task/kernels\n");
}

TEST_F(Tools, AFailedCommandShowsItsOutputAndItsCode) {
  const auto failed = sandbox_.bash("echo out; echo err >&2; exit 7");
  EXPECT_FALSE(failed.ok());
  EXPECT_TRUE(failed.schema_valid());
  EXPECT_EQ(failed.text(), "out\nerr\n[exit code 7]");
  EXPECT_EQ(sandbox_.bash("if").ok(), false);
  EXPECT_EQ(sandbox_.bash("true").text(), "(no output)");
}

TEST_F(Tools, ATimeoutEndsTheProcessGroupAndReturnsWhatWasPrinted) {
  sandbox_.bash("cd kernels");
  const auto late = sandbox_.bash("echo begun; sleep 1000 & sleep 1000; echo never", 700);
  EXPECT_FALSE(late.ok());
  EXPECT_THAT(late.text(), HasSubstr("begun\n[timed out after 700 ms"));
  EXPECT_THAT(late.text(), Not(HasSubstr("never")));
  EXPECT_LT(late.wall_ms(), 5000U);
  // What was killed may take a moment to be gone.
  const auto after = sandbox_.bash("while pgrep sleep > /dev/null; do :; done; pwd", 10'000);
  EXPECT_EQ(after.text(), "/workspace/task/kernels\n");
}

TEST_F(Tools, ACommandThatLeavesAProcessBehindReturnsAtOnce) {
  const auto result = sandbox_.bash("sleep 1000 & echo here");
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.text(), "here\n");
}

TEST_F(Tools, LongOutputLosesItsMiddle) {
  const auto result = sandbox_.bash("echo first; yes | head -c 2000000; echo last");
  EXPECT_LE(result.text().size(), 30'000U);
  EXPECT_THAT(result.text(), testing::StartsWith("first\n"));
  EXPECT_THAT(result.text(), testing::EndsWith("last\n"));
  EXPECT_THAT(result.text(), HasSubstr("characters left out"));
}

TEST_F(Tools, ABackgroundCommandIsReadInPartsAndKilled) {
  const auto started = sandbox_.call(
      "Bash",
      {{"command", "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two; sleep 1000"},
       {"run_in_background", true}});
  ASSERT_THAT(started.text(), HasSubstr("bash_1"));
  const auto output = [&](const char* filter) {
    return sandbox_.call("BashOutput", {{"bash_id", "bash_1"}, {"filter", filter}}).text();
  };
  EXPECT_THAT(output("("), HasSubstr("nothing was read"));
  EXPECT_TRUE(eventually([&] { return output("one") == "one\n[running]"; }));
  EXPECT_EQ(output(""), "[running]");  // only what is new
  sandbox_.bash("touch go");
  EXPECT_TRUE(eventually([&] { return output("t.o") == "two\n[running]"; }));
  EXPECT_TRUE(sandbox_.call("KillBash", {{"shell_id", "bash_1"}}).ok());
  EXPECT_TRUE(eventually([&] { return output("") == "[ended, ended by signal 9]"; }));
  EXPECT_FALSE(sandbox_.call("KillBash", {{"shell_id", "bash_1"}}).ok());
  EXPECT_THAT(sandbox_.call("BashOutput", {{"bash_id", "bash_9"}}).text(),
              HasSubstr("there are: bash_1"));
}

TEST_F(Tools, ACallCanBeCancelledWhileItRunsAndWhileItWaits) {
  v1::SessionDown down;
  for (std::uint64_t id : {100U, 101U}) {
    down.mutable_tool()->set_id(id);
    down.mutable_tool()->set_name("Bash");
    down.mutable_tool()->set_arguments_json(R"({"command":"echo begun; sleep 1000"})");
    sandbox_.send(down);
  }
  for (std::uint64_t id : {101U, 100U}) {
    down.mutable_cancel()->set_id(id);
    sandbox_.send(down);
  }
  v1::SessionUp up;
  ASSERT_TRUE(sandbox_.read(&up));
  EXPECT_EQ(up.result().id(), 100U);
  EXPECT_THAT(up.result().text(), HasSubstr("[cancelled]"));
  ASSERT_TRUE(sandbox_.read(&up));
  EXPECT_EQ(up.result().id(), 101U);
  EXPECT_EQ(up.result().text(), "[cancelled]");
}

TEST_F(Tools, AnExistingFileMustHaveBeenReadAndBeUnchanged) {
  const std::string path = "/workspace/task/model_new.py";
  EXPECT_TRUE(write(path, "one\n").ok());
  EXPECT_TRUE(write(path, "two\n").ok());  // it knows its own text
  sandbox_.bash("echo three > model_new.py");
  EXPECT_THAT(write(path, "four\n").text(), HasSubstr("changed since"));
  EXPECT_EQ(read(path).text(), "     1\tthree\n");
  EXPECT_TRUE(write(path, "four\n").ok());
  sandbox_.bash("echo new > other.py");
  EXPECT_THAT(write("/workspace/task/other.py", "x").text(), HasSubstr("Read it first"));
  EXPECT_TRUE(write("/workspace/task/kernels/deep/a.cpp", "x").ok());
}

TEST_F(Tools, AnEditShowsTheLinesAroundIt) {
  const std::string path = "/workspace/task/a.py";
  write(path, "one\ntwo\nthree\n");
  const auto edited =
      sandbox_.call("Edit", {{"file_path", path}, {"old_string", "two"}, {"new_string", "2"}});
  EXPECT_THAT(edited.text(), HasSubstr("     2\t2\n"));
  EXPECT_EQ(sandbox_.bash("cat a.py").text(), "one\n2\nthree\n");
  const auto several =
      sandbox_.call("MultiEdit", {{"file_path", path},
                                  {"edits",
                                   {{{"old_string", "one"}, {"new_string", "1"}},
                                    {{"old_string", "nowhere"}, {"new_string", "x"}}}}});
  EXPECT_THAT(several.text(), HasSubstr("none was made"));
  EXPECT_EQ(sandbox_.bash("head -1 a.py").text(), "one\n");
}

TEST_F(Tools, FilesAreFoundByNameAndByContent) {
  write("/workspace/task/kernels/a.cpp", "int needle;\n");
  const auto globbed = sandbox_.call("Glob", {{"pattern", "**/*.cpp"}});
  EXPECT_EQ(globbed.text(), "/workspace/task/kernels/a.cpp\n/workspace/task/binding.cpp\n");
  const auto found =
      sandbox_.call("Grep", {{"pattern", "need.e"}, {"output_mode", "content"}, {"-n", true}});
  EXPECT_EQ(found.text(), "/workspace/task/kernels/a.cpp:1:int needle;\n");
  EXPECT_EQ(sandbox_.call("Grep", {{"pattern", "nowhere at all"}}).text(), "(No match.)");
}

TEST_F(Tools, TheListOfThingsToDoIsEchoed) {
  const auto echoed = sandbox_.call(
      "TodoWrite", {{"todos",
                     {{{"content", "profile"}, {"status", "completed"}, {"activeForm", "x"}},
                      {{"content", "write"}, {"status", "pending"}, {"activeForm", "y"}}}}});
  EXPECT_EQ(echoed.text(), "[x] profile\n[ ] write\n");
}

TEST_F(Tools, APathThatLeadsOutOfTheWorkDirectoryIsRefused) {
  EXPECT_THAT(read("/etc/passwd").text(), HasSubstr("outside the work directory"));
  EXPECT_THAT(write("/workspace/task/../x", "").text(), HasSubstr("outside the work directory"));
  sandbox_.bash("ln -s /etc etc; ln -s /etc/passwd passwd; ln -s kernels inside");
  EXPECT_THAT(read("/workspace/task/passwd").text(), HasSubstr("symbolic link"));
  EXPECT_THAT(read("/workspace/task/etc/passwd").text(), HasSubstr("symbolic link"));
  EXPECT_THAT(write("/workspace/task/inside/a.cpp", "").text(), HasSubstr("symbolic link"));
  EXPECT_FALSE(sandbox_.call("Grep", {{"pattern", "root"}, {"path", "/workspace/task/etc"}}).ok());
  EXPECT_FALSE(sandbox_.call("Glob", {{"pattern", "*"}, {"path", "/workspace/task/etc"}}).ok());
}

/// Whatever bytes an agent produces, its call is answered and the session goes on.
TEST_F(Tools, BytesThatAreNoUtf8AreShownAsReplacementCharacters) {
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(sandbox_.bash("printf 'a\\377b'").text(), "a" + bad + "b");
  EXPECT_THAT(sandbox_.bash("printf '\\303' >&2; exit 3").text(), StartsWith(bad + "\n[exit"));
  sandbox_.bash(
      "mkdir $'d\\377'; : > $'d\\377/f\\376.py'; printf 'x\\377 = 1\\ny = 2\\n' > bytes.py");
  EXPECT_THAT(sandbox_.bash(": < $'no\\377file'; ls -N d*").text(),
              AllOf(HasSubstr("no" + bad + "file"), HasSubstr("f" + bad + ".py")));
  EXPECT_THAT(sandbox_.call("Glob", {{"pattern", "**/*.py"}}).text(),
              HasSubstr("d" + bad + "/f" + bad + ".py"));
  EXPECT_THAT(sandbox_.call("Grep", {{"pattern", "= 1"}, {"output_mode", "content"}}).text(),
              HasSubstr("x" + bad + " = 1"));
  EXPECT_EQ(read("/workspace/task/bytes.py").text(), "     1\tx" + bad + " = 1\n     2\ty = 2\n");
  const auto edited = sandbox_.call("Edit", {{"file_path", "/workspace/task/bytes.py"},
                                             {"old_string", "y = 2"},
                                             {"new_string", "y = 3"}});
  EXPECT_THAT(edited.text(), HasSubstr("     1\tx" + bad + " = 1\n     2\ty = 3\n"));
  EXPECT_EQ(sandbox_.bash("head -c 2 bytes.py | od -An -tx1").text(), " 78 ff\n");  // kept
  sandbox_.bash("head -c 4000 /dev/urandom > noise");
  EXPECT_TRUE(read("/workspace/task/noise").ok());
  // A message that quotes a part of what the policy wrote may cut a character in two.
  const auto refused =
      sandbox_.call("Bash", {{"command", "true"}, {std::string(63, 'x') + "\xc3\xa9", 1}});
  EXPECT_FALSE(refused.schema_valid());
  EXPECT_THAT(refused.text(), HasSubstr(std::string(63, 'x') + bad + "`"));
  const auto unknown = sandbox_.call("KillBash", {{"shell_id", std::string(63, 'x') + "\xc3\xa9"}});
  EXPECT_THAT(unknown.text(), HasSubstr(std::string(63, 'x') + bad + "`"));
  EXPECT_TRUE(sandbox_.finish().ok());
}

TEST_F(Tools, WhatIsNoRegularFileIsNotOpened) {
  sandbox_.bash("mkfifo pipe; head -c 100 /dev/zero > zeros; truncate -s 9M large; : > empty");
  EXPECT_THAT(read("/workspace/task/pipe").text(), HasSubstr("not a regular file"));
  EXPECT_THAT(read("/workspace/task/kernels").text(), HasSubstr("is a directory"));
  EXPECT_THAT(read("/workspace/task/zeros").text(), HasSubstr("binary"));
  EXPECT_THAT(read("/workspace/task/large").text(), HasSubstr("larger than 8 MiB"));
  EXPECT_THAT(read("/workspace/task/empty").text(), HasSubstr("empty"));
  EXPECT_THAT(read("/workspace/task/nothing").text(), HasSubstr("does not exist"));
}

}  // namespace
}  // namespace swage::sandbox
