#include "learner/adapters/segmented_log.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "common/base/files.hpp"
#include "tests/support/signal_process.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::learner {
namespace {

namespace fs = std::filesystem;
using test::TempDirectory;
using ::testing::HasSubstr;
using ::testing::SizeIs;

LogRecord record(const std::string& payload) { return {FrameType::trajectory, payload}; }

std::unique_ptr<SegmentedLog> open(const fs::path& path, std::uint64_t roll = 1U << 20U) {
  auto log = SegmentedLog::open(path, roll);
  EXPECT_TRUE(log) << log.error().message;
  return log ? std::move(*log) : nullptr;
}

std::string noise(std::size_t size, unsigned seed) {
  std::string out;
  while (out.size() < size) out += std::to_string(seed = seed * 1664525U + 1013904223U);
  out.resize(size);
  return out;
}

TEST(SegmentedLog, KeepsRecordsOverAReopening) {
  const TempDirectory directory;
  {
    auto log = open(directory.path());
    EXPECT_EQ(*log->append({record("one"), {FrameType::batch, "two"}}), 1U);
    EXPECT_EQ(*log->append({record("three")}), 3U);
    EXPECT_EQ(log->read(1)->payload, "one");
  }
  auto log = open(directory.path());
  ASSERT_THAT(log->frames(), SizeIs(3));
  EXPECT_EQ(log->read(2)->type, FrameType::batch);
  EXPECT_EQ(log->read(3)->payload, "three");
  EXPECT_EQ(log->next_seq(), 4U);
  EXPECT_FALSE(log->read(4));
  EXPECT_FALSE(log->read(0));
}

TEST(SegmentedLog, RollsOverToSegmentsNamedAfterTheirFirstRecord) {
  const TempDirectory directory;
  {
    auto log = open(directory.path(), 2'000);
    for (unsigned i = 0; i < 10; ++i) ASSERT_TRUE(log->append({record(noise(1'500, i))}));
  }
  EXPECT_GT(std::distance(fs::directory_iterator(directory.path()), {}), 2);
  auto log = open(directory.path(), 2'000);
  for (unsigned i = 0; i < 10; ++i) EXPECT_EQ(log->read(i + 1)->payload, noise(1'500, i));
}

TEST(SegmentedLog, TheTailCutAtEveryByteIsRepairedAtTheLastWholeRecord) {
  const TempDirectory directory;
  const auto whole = directory.path() / "whole";
  std::uint64_t after_one = 0;
  {
    auto log = open(whole);
    ASSERT_TRUE(log->append({record("one")}));
    after_one = fs::file_size(whole / segment_name(1));
    ASSERT_TRUE(log->append({record("two")}));
  }
  const auto bytes = *read_file(whole / segment_name(1));
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    const auto path = directory.path() / std::to_string(length);
    fs::create_directory(path);
    std::ofstream(path / segment_name(1), std::ios::binary) << bytes.substr(0, length);
    auto log = open(path);
    const std::size_t expected = length >= bytes.size() ? 2 : length >= after_one ? 1 : 0;
    ASSERT_THAT(log->frames(), SizeIs(expected)) << length;
    EXPECT_EQ(*log->append({record("next")}), expected + 1);
    log.reset();
    EXPECT_EQ(open(path)->read(expected + 1)->payload, "next");
  }
}

TEST(SegmentedLog, DamageBeforeTheTailRefusesToStartNamingSegmentAndOffset) {
  const TempDirectory directory;
  {
    auto log = open(directory.path(), 100);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(log->append({record(noise(200, 1)), record("small")}));
  }
  const auto middle = directory.path() / segment_name(3);
  auto bytes = *read_file(middle);
  std::ofstream(middle, std::ios::binary) << bytes.substr(0, bytes.size() - 1);
  auto log = SegmentedLog::open(directory.path());
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code, LogErrc::damaged);
  EXPECT_THAT(log.error().message, HasSubstr(segment_name(3)));
  EXPECT_THAT(log.error().message, HasSubstr("offset"));

  fs::remove(middle);
  EXPECT_THAT(SegmentedLog::open(directory.path()).error().message, HasSubstr("is missing"));
}

TEST(SegmentedLog, AFlippedByteInTheLastSegmentIsNotTakenForATornTail) {
  const TempDirectory directory;
  {
    auto log = open(directory.path());
    ASSERT_TRUE(log->append({record("one"), record("two")}));
  }
  const auto path = directory.path() / segment_name(1);
  auto bytes = *read_file(path);
  bytes[20] = static_cast<char>(bytes[20] ^ 4);
  std::ofstream(path, std::ios::binary) << bytes;
  const auto log = SegmentedLog::open(directory.path());
  ASSERT_FALSE(log);
  EXPECT_THAT(log.error().message, HasSubstr("offset 0"));
}

/// Every file of a directory, by name.
std::map<std::string, std::string> files_in(const fs::path& directory) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::directory_iterator(directory))
    out[entry.path().filename().string()] = *read_file(entry.path());
  return out;
}

void lay(const fs::path& directory, const std::map<std::string, std::string>& files) {
  fs::remove_all(directory);
  fs::create_directory(directory);
  for (const auto& [name, bytes] : files)
    std::ofstream(directory / name, std::ios::binary) << bytes;
}

/// A log with two groups that were answered, and a third that was written when the process or the
/// machine went, before its sync was over.
struct Crashed {
  std::map<std::string, std::string> files;
  std::size_t answered = 0;       ///< bytes of the first two groups, three records
  std::vector<std::size_t> ends;  ///< of each record, in bytes
};

Crashed crashed(const fs::path& directory) {
  Crashed out;
  auto log = open(directory);
  EXPECT_TRUE(log->append({record("one")}));
  EXPECT_TRUE(log->append({record("two"), record("three")}));
  const auto mark = *read_file(synced_file(directory));
  EXPECT_TRUE(log->append({record("four"), record("five"), record("six")}));
  for (const auto& frame : log->frames()) out.ends.push_back(frame.offset + frame.size);
  out.answered = out.ends[2];
  log.reset();
  out.files = files_in(directory);
  out.files["synced"] = mark;
  return out;
}

TEST(SegmentedLog, CutAtEveryByteItKeepsWhatWasAnsweredAndCutsTheRest) {
  const TempDirectory directory;
  const auto path = directory.path() / "log";
  const auto crash = crashed(path);
  const auto whole = crash.files.at(segment_name(1));
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    auto files = crash.files;
    files[segment_name(1)].resize(length);
    lay(path, files);
    auto log = SegmentedLog::open(path);
    if (length < crash.answered) {  // no crash does that: nothing of it may be made worse
      ASSERT_FALSE(log) << length;
      EXPECT_EQ(log.error().code, LogErrc::damaged);
      EXPECT_EQ(files_in(path), files);
      continue;
    }
    ASSERT_TRUE(log) << length << ": " << log.error().message;
    const auto kept = static_cast<std::size_t>(std::count_if(
        crash.ends.begin(), crash.ends.end(), [&](auto end) { return end <= length; }));
    EXPECT_THAT((*log)->frames(), SizeIs(kept)) << length;
    EXPECT_EQ((*log)->read(3)->payload, "three");
    EXPECT_EQ(*(*log)->append({record("next")}), kept + 1);
    log->reset();
    EXPECT_EQ(open(path)->read(kept + 1)->payload, "next");
  }
}

TEST(SegmentedLog, APowerFailureMayLeaveHolesInTheLastGroupAndNowhereElse) {
  const TempDirectory directory;
  const auto path = directory.path() / "log";
  const auto crash = crashed(path);
  for (std::size_t broken = 0; broken < crash.ends.size(); ++broken) {
    auto files = crash.files;
    const auto begin = broken == 0 ? 0 : crash.ends[broken - 1];
    auto& bytes = files[segment_name(1)];
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
              bytes.begin() + static_cast<std::ptrdiff_t>(crash.ends[broken]), '\0');
    lay(path, files);
    auto log = SegmentedLog::open(path);
    if (broken < 3) {
      ASSERT_FALSE(log);
      EXPECT_THAT(log.error().message, HasSubstr("offset " + std::to_string(begin)));
      EXPECT_EQ(files_in(path), files);
      continue;
    }
    ASSERT_TRUE(log) << log.error().message;
    EXPECT_THAT((*log)->frames(), SizeIs(broken));
    EXPECT_EQ(fs::file_size(path / segment_name(1)), begin);
  }
}

TEST(SegmentedLog, AReaderLeavesATornEndAsItLies) {
  const TempDirectory directory;
  const auto path = directory.path() / "log";
  auto files = crashed(path).files;
  files.erase("lock");
  files[segment_name(1)].resize(files[segment_name(1)].size() - 1);
  for (const bool marked : {true, false}) {
    if (!marked) files.erase("synced");
    lay(path, files);
    const auto index = index_log(path);
    ASSERT_TRUE(index) << index.error().message;
    EXPECT_THAT(index->frames, SizeIs(5));
    EXPECT_GT(index->torn, 0U);
    EXPECT_EQ(read_record(*index, 5)->payload, "five");
    EXPECT_EQ(files_in(path), files);
  }
}

TEST(SegmentedLog, AReaderBesideTheWriterSeesWhatIsSynced) {
  const TempDirectory directory;
  auto log = open(directory.path(), 100);
  for (unsigned i = 1; i < 20; ++i) {
    ASSERT_TRUE(log->append({record(noise(60, i))}));
    const auto before = files_in(directory.path());
    const auto index = index_log(directory.path());
    ASSERT_TRUE(index) << index.error().message;
    EXPECT_EQ(read_record(*index, i)->payload, noise(60, i));
    EXPECT_EQ(files_in(directory.path()), before);
  }
}

TEST(SegmentedLog, ASecondWriterIsRefusedWhileTheFirstLives) {
  const TempDirectory directory;
  auto first = open(directory.path());
  ASSERT_TRUE(first->append({record("one")}));
  const auto before = files_in(directory.path());
  const auto second = SegmentedLog::open(directory.path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, LogErrc::in_use);
  EXPECT_THAT(second.error().message, HasSubstr(directory.path().string()));
  EXPECT_EQ(files_in(directory.path()), before);
  first.reset();
  EXPECT_EQ(*open(directory.path())->append({record("two")}), 2U);
}

/// Writes records and tells each number that is on disk through `out`, until it is killed.
[[noreturn]] void write_for_ever(const fs::path& path, int out) {
  auto log = SegmentedLog::open(path, 4'000);
  if (!log) ::_exit(3);
  for (unsigned i = 0;; ++i) {
    const auto seq = (*log)->append({record(noise(50 + i % 700, i)), record(std::to_string(i))});
    if (!seq) ::_exit(4);
    const std::uint64_t last = *seq + 1;
    if (::write(out, &last, sizeof last) != sizeof last) ::_exit(5);
  }
}

TEST(SegmentedLog, AfterKillNineTheLogIsFreeAndEachAcknowledgedRecordThereOnce) {
  const TempDirectory directory;
  for (int round = 0; round < 10; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      write_for_ever(directory.path(), ends[1]);
    }
    ::close(ends[1]);
    std::uint64_t acknowledged = 0, seq = 0;
    for (int i = 0; i < 1 + round * 3 && ::read(ends[0], &seq, sizeof seq) == sizeof seq; ++i)
      acknowledged = seq;
    const auto held = SegmentedLog::open(directory.path(), 4'000);
    EXPECT_TRUE(!held && held.error().code == LogErrc::in_use);
    test::signal_process(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    while (::read(ends[0], &seq, sizeof seq) == sizeof seq) acknowledged = seq;
    ::close(ends[0]);
    auto log = open(directory.path(), 4'000);
    ASSERT_TRUE(log);
    EXPECT_GE(log->frames().size(), acknowledged);
    for (const auto& frame : log->frames()) EXPECT_TRUE(log->read(frame.seq));
  }
}

TEST(SegmentedLog, AFullDiskRefusesTheAppendAndLaterOnesGoOn) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount a small file system";
  const TempDirectory directory;
  if (::mount("none", directory.path().c_str(), "tmpfs", 0, "size=256k") != 0)
    GTEST_SKIP() << "mount is not permitted";
  {
    auto log = open(directory.path() / "log");
    ASSERT_TRUE(log->append({record("first")}));
    std::ofstream(directory.path() / "filler") << std::string(200'000, 'x');
    Result<std::uint64_t, LogError> last = 0;
    for (unsigned i = 0; i < 100 && last; ++i) last = log->append({record(noise(20'000, i))});
    ASSERT_FALSE(last);
    EXPECT_EQ(last.error().code, LogErrc::disk_full);
    EXPECT_THAT(last.error().message, HasSubstr("no space left"));
    const auto before = log->next_seq();
    fs::remove(directory.path() / "filler");
    EXPECT_EQ(*log->append({record(noise(20'000, 7))}), before);
    log.reset();
    log = open(directory.path() / "log");
    EXPECT_EQ(log->frames().size(), before);
    EXPECT_EQ(log->read(before)->payload, noise(20'000, 7));
  }
  ::umount(directory.path().c_str());
}

}  // namespace
}  // namespace swage::learner
