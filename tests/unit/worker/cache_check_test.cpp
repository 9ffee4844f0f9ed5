#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "gpu_pool/worker/adapters/judge_runner.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::worker {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// The rights of an ordinary user while it lives, also where the tests run as root.
class OrdinaryUser {
 public:
  OrdinaryUser() {
    if (was_ == 0 && ::seteuid(65534) != 0) ADD_FAILURE() << "cannot become an ordinary user";
  }
  OrdinaryUser(const OrdinaryUser&) = delete;
  ~OrdinaryUser() {
    if (::seteuid(was_) != 0) ADD_FAILURE() << "cannot become the first user again";
  }

 private:
  uid_t was_ = ::geteuid();
};

class CacheCheck : public ::testing::Test {
 protected:
  CacheCheck() {
    // Others may pass through, and nothing more.
    fs::permissions(directory_.path(), fs::perms(0711));
  }
  ~CacheCheck() override {
    std::error_code ignored;
    for (const auto& folder : closed_) fs::permissions(folder, fs::perms::owner_all, ignored);
  }
  /// A folder that an ordinary user may read, and add nothing to.
  void close(const fs::path& folder) {
    fs::permissions(folder, fs::perms(0555));
    closed_.push_back(folder);
  }
  fs::path cache() const { return directory_.path() / "gpu-worker"; }

 private:
  test::TempDirectory directory_;
  std::vector<fs::path> closed_;
};

TEST_F(CacheCheck, ANewFolderIsMadeAndLeftEmpty) {
  EXPECT_TRUE(check_cache(cache()).has_value());
  EXPECT_TRUE(fs::is_empty(cache()));
}

TEST_F(CacheCheck, AFolderOfAnotherUserIsNamedWithTheReasonAndTheRemedy) {
  fs::create_directories(cache());
  close(cache());
  const OrdinaryUser user;
  const auto checked = check_cache(cache());
  ASSERT_FALSE(checked.has_value());
  EXPECT_THAT(checked.error(),
              AllOf(HasSubstr("cannot write to " + cache().string() + ": Permission denied"),
                    HasSubstr("user " + std::to_string(::geteuid())), HasSubstr("chown")));
}

TEST_F(CacheCheck, AFolderOfAnotherUserDeepInsideIsFound) {
  const auto inside = cache() / "inductor" / "ab";
  fs::create_directories(inside);
  fs::permissions(cache(), fs::perms(0777));
  fs::permissions(cache() / "inductor", fs::perms(0777));
  close(inside);
  const OrdinaryUser user;
  const auto checked = check_cache(cache());
  ASSERT_FALSE(checked.has_value());
  EXPECT_THAT(checked.error(), HasSubstr("cannot write to " + inside.string()));
}

TEST_F(CacheCheck, FilesOfAnotherUserDoNoHarmForNewOnesTakeTheirPlace) {
  fs::create_directories(cache() / "inductor");
  std::ofstream(cache() / "inductor" / "kernel.so") << "code";
  fs::permissions(cache() / "inductor" / "kernel.so", fs::perms(0444));
  fs::permissions(cache(), fs::perms(0777));
  fs::permissions(cache() / "inductor", fs::perms(0777));
  const OrdinaryUser user;
  const auto checked = check_cache(cache());
  EXPECT_TRUE(checked.has_value()) << checked.error();
}

TEST_F(CacheCheck, AFileInItsPlaceIsAnError) {
  std::ofstream(cache()) << "no folder";
  const auto checked = check_cache(cache() / "inner");
  ASSERT_FALSE(checked.has_value());
  EXPECT_THAT(checked.error(), HasSubstr("Not a directory"));
}

}  // namespace
}  // namespace swage::worker
