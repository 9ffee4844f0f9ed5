#include "gpu_pool/judge/app/endings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace swage::judge {
namespace {

constexpr const char* kInductor = R"(Traceback (most recent call last):
  File "/opt/torch/_inductor/codecache.py", line 2787, in _get_file_checksum
    cmd_output = subprocess.run(
                 ^^^^^^^^^^^^^^^
FileNotFoundError: [Errno 2] No such file or directory: 'openssl'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "model.py", line 7, in forward
    return self.linear(x)
torch._inductor.exc.InductorError: FileNotFoundError: No such file or directory: 'openssl'

Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace. For even more developer context, set more
)";

TEST(Endings, TheLineThatNamesAnErrorIsNotItsLast) {
  EXPECT_EQ(error_line(kInductor),
            "torch._inductor.exc.InductorError: FileNotFoundError: No such file or directory: "
            "'openssl'");
}

TEST(Endings, AnErrorWithoutFramesIsNamedToo) {
  EXPECT_EQ(error_line("Traceback (most recent call last):\nValueError: seven\nis not even\n"),
            "ValueError: seven");
  EXPECT_EQ(error_line("  File \"a.py\", line 1\n    x =\n       ^\nSyntaxError: invalid syntax\n"),
            "SyntaxError: invalid syntax");
}

TEST(Endings, ATextThatIsNoTracebackIsToldByItsLastLine) {
  EXPECT_EQ(error_line("output 0: float64 instead of float32"),
            "output 0: float64 instead of float32");
  EXPECT_EQ(error_line("one\ntwo \n\n"), "two");
  EXPECT_EQ(error_line(" \n"), "");
}

TEST(Endings, ATaskThatFailsSaysWhatFailed) {
  HostFailure failure;
  failure.kind = HostFailure::Kind::failed;
  failure.stage = "forward";
  failure.message = kInductor;
  const auto ending = task_ending(failure);
  EXPECT_EQ(ending.code, Code::task_invalid);
  EXPECT_THAT(ending.detail, testing::HasSubstr("No such file or directory: 'openssl'"));
}

}  // namespace
}  // namespace swage::judge
