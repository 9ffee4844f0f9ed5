#include "sandbox/api/bundle.hpp"

#include <gmock/gmock.h>

#include "common/base/digest.hpp"

namespace swage::sandbox {
namespace {

using testing::HasSubstr;

const std::vector<WorkFile> kFiles{{"model_new.py", 0644, "x"}, {"kernels/a.cpp", 0644, ""}};

TEST(Bundle, TheManifestIsSortedAndEndsWithTheLibrary) {
  EXPECT_EQ(manifest_of(kFiles, "LIB"), "kernels/a.cpp 0644 0 " + sha256_hex("") +
                                            "\nmodel_new.py 0644 1 " + sha256_hex("x") +
                                            "\nlibrary 0444 3 " + sha256_hex("LIB") + "\n");
}

TEST(Bundle, TheIdDependsOnContentModeAndLibraryAndNotOnOrder) {
  const auto id = bundle_id(kFiles, "LIB");
  EXPECT_EQ(bundle_id({kFiles[1], kFiles[0]}, "LIB"), id);
  EXPECT_NE(bundle_id(kFiles, ""), id);
  auto changed = kFiles;
  changed[0].mode = 0444;
  EXPECT_NE(bundle_id(changed, "LIB"), id);
  EXPECT_EQ(work_digest(kFiles), bundle_id(kFiles, ""));
}

TEST(Bundle, SixtyFourFilesOfOneMebibyteAreTheMost) {
  std::vector<WorkFile> files;
  for (std::size_t i = 0; i < kMaxBundleFiles; ++i)
    files.push_back({"f" + std::to_string(i), 0644, ""});
  files[0].content.assign(kMaxFileBytes, 'x');
  EXPECT_TRUE(check_bundle_files(files));
  files[0].content += 'x';
  EXPECT_THAT(check_bundle_files(files).error(), HasSubstr("larger than 1 MiB"));
  files[0].content.clear();
  files.push_back({"one_more", 0644, ""});
  EXPECT_THAT(check_bundle_files(files).error(), HasSubstr("64 is the most"));
  for (std::size_t i = 0; i < 4; ++i) files[i].content.assign(kMaxFileBytes, 'x');
  files.pop_back();
  EXPECT_TRUE(check_bundle_files(files));
  files[4].content = "x";
  EXPECT_THAT(check_bundle_files(files).error(), HasSubstr("4 MiB together"));
  EXPECT_THAT(check_bundle_files({kFiles[0], kFiles[0]}).error(), HasSubstr("twice"));
}

TEST(Bundle, APathThatCouldLeadElsewhereIsRefused) {
  for (const char* path : {"a", "kernels/a-b_c.1+.cpp"}) EXPECT_TRUE(check_bundle_path(path));
  for (const char* path :
       {"", "/a", "a/", "a//b", "../a", "a/../b", "./a", "a b", "a\nb", "\xc3\xa9"})
    EXPECT_FALSE(check_bundle_path(path)) << path;
  EXPECT_TRUE(check_bundle_path(std::string(255, 'a')));
  EXPECT_FALSE(check_bundle_path(std::string(256, 'a')));
}

}  // namespace
}  // namespace swage::sandbox
