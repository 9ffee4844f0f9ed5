#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <set>

#include "common/base/check.hpp"
#include "common/base/command.hpp"
#include "common/base/descriptor.hpp"
#include "common/base/digest.hpp"
#include "common/base/files.hpp"
#include "common/base/philox.hpp"
#include "common/base/utf8.hpp"

namespace swage {
namespace {

TEST(Check, AFalseConditionEndsTheProcessWithItsReason) {
  EXPECT_DEATH(check(false, "two and two are five"), "two and two are five");
  check(true, "nothing happens");
}

TEST(Digest, AgreesWithPublishedVectors) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c("6789", crc32c("12345")), crc32c("123456789"));
}

TEST(Digest, HexGoesThereAndBackAndRefusesWhatIsNotHex) {
  const std::string bytes("\x00\xff\x10", 3);
  EXPECT_EQ(from_hex(to_hex(bytes)), bytes);
  EXPECT_EQ(from_hex("abc"), "");
  EXPECT_EQ(from_hex("zz"), "");
}

TEST(Digest, ConstantTimeEqualityIsEquality) {
  EXPECT_TRUE(constant_time_equal("same", "same"));
  EXPECT_FALSE(constant_time_equal("same", "sama"));
  EXPECT_FALSE(constant_time_equal("same", "sam"));
}

TEST(Digest, ThePrefixHashContinuesWhereItStopped) {
  const std::array<std::uint32_t, 4> ids{1, 2, 3, 70000};
  const std::span<const std::uint32_t> all(ids);
  EXPECT_EQ(fnv1a(all.subspan(2), fnv1a(all.first(2))), fnv1a(all));
  EXPECT_NE(fnv1a(all.first(3)), fnv1a(all));
}

TEST(Philox, AgreesWithThePublishedZeroAndOnesVectors) {
  EXPECT_THAT(philox(0, {0, 0, 0, 0}),
              testing::ElementsAre(0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U));
  EXPECT_THAT(philox(~0ULL, {~0U, ~0U, ~0U, ~0U}),
              testing::ElementsAre(0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU));
}

TEST(Philox, UniformDrawsFillTheUnitInterval) {
  double sum = 0;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    const double u = philox_uniform(7, 3, i);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

class Files : public testing::Test {
 protected:
  Files() : directory_(std::filesystem::path(testing::TempDir()) / to_hex(random_bytes(8))) {
    std::filesystem::create_directories(directory_);
  }
  ~Files() override { std::filesystem::remove_all(directory_); }
  std::filesystem::path directory_;
};

TEST_F(Files, ADurableWriteReplacesTheWholeFileAndLeavesNoTemporary) {
  const auto path = directory_ / "a";
  ASSERT_TRUE(write_file_durably(path, "one"));
  ASSERT_TRUE(write_file_durably(path, "two", 0600));
  EXPECT_EQ(*read_file(path), "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1);
}

TEST_F(Files, ErrorsNameThePath) {
  const auto missing = directory_ / "no" / "file";
  EXPECT_THAT(read_file(missing).error().message, testing::HasSubstr(missing.string()));
  EXPECT_THAT(write_file_durably(missing, "x").error().message,
              testing::HasSubstr(missing.string()));
}

TEST_F(Files, AFullDiskIsAnErrorThatSaysSo) {
  const auto written = write_file_durably("/dev/full/nowhere", "x");
  ASSERT_FALSE(written);
  EXPECT_FALSE(written.error().message.empty());
}

TEST(Command, WordsReachTheProgramAsTheyAreAndItsAnswerComesBack) {
  const auto ran = run_command({"printf", "%s|%s\n\n", "it's", "a b;$HOME"}, CommandOutput::answer);
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.text, "it's|a b;$HOME");
}

TEST(Command, WhatItComplainsOfIsCollectedWhenAsked) {
  const auto complaint = std::vector<std::string>{"sh", "-c", "echo out; echo why >&2; exit 3"};
  const auto both = run_command(complaint, CommandOutput::both);
  EXPECT_EQ(both.exit_code, 3);
  EXPECT_EQ(both.text, "out\nwhy");
  EXPECT_EQ(run_command(complaint, CommandOutput::none).text, "");
}

TEST(Command, OnlyStdinStdoutAndStderrAreInherited) {
  const Descriptor leaking(::dup(STDERR_FILENO));  // without O_CLOEXEC
  const auto ran = run_command({"ls", "/proc/self/fd"}, CommandOutput::answer);
  EXPECT_EQ(ran.text, "0\n1\n2\n3");  // 3 is the directory that ls reads
}

TEST(Command, AProgramThatIsNotThereOrDiesHasNoExitCode) {
  EXPECT_EQ(run_command({"/nowhere/program"}, CommandOutput::both).exit_code, -1);
  EXPECT_EQ(run_command({"sh", "-c", "kill -KILL $$"}, CommandOutput::none).exit_code, -1);
}

TEST(Utf8, BytesThatAreNoPartOfItBecomeReplacementCharacters) {
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(to_valid_utf8("a\xff z"), "a" + bad + " z");
  EXPECT_EQ(to_valid_utf8("\xc3\xa9\xf0\x9f\x98\x80"), "\xc3\xa9\xf0\x9f\x98\x80");
  EXPECT_EQ(to_valid_utf8("\xed\xa0\x80"), bad + bad + bad);  // a surrogate half
  EXPECT_EQ(to_valid_utf8("\xc0\x80"), bad + bad);            // overlong
  EXPECT_EQ(to_valid_utf8("\xf0\x9f\x98"), bad + bad + bad);  // cut short
  for (const char* text : {"", "a", "\xc3\xa9", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_valid_utf8(text)) << text;
  for (const char* text : {"\xff", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80"})
    EXPECT_FALSE(is_valid_utf8(text)) << text;
}

}  // namespace
}  // namespace swage
