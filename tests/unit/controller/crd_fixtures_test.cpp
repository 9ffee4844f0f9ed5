#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "common/base/files.hpp"
#include "controller/adapters/run_file.hpp"

namespace swage::controller {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::vector<fs::path> fixtures(const char* folder) {
  const char* root = std::getenv("SWAGE_SOURCE_DIR");
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(fs::path(root == nullptr ? "." : root) /
                                                  "tests/support/crd" / folder))
    if (entry.path().extension() == ".yaml") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

TEST(CrdFixtures, WhatTheSchemaAcceptsIsRead) {
  const auto files = fixtures("accept");
  EXPECT_GE(files.size(), 4U);
  for (const auto& file : files) {
    const auto read = read_run_file(file);
    EXPECT_TRUE(read) << file << ": " << (read ? "" : read.error().text());
  }
}

TEST(CrdFixtures, WhatItRejectsIsRefusedWithFileLineFieldAndRemedy) {
  const auto files = fixtures("reject");
  EXPECT_GE(files.size(), 40U);
  for (const auto& file : files) {
    const auto read = read_run_file(file);
    ASSERT_FALSE(read) << file;
    auto expected = read_file(fs::path(file).replace_extension(".expect")).value_or("(missing)");
    while (!expected.empty() && expected.back() == '\n') expected.pop_back();
    EXPECT_THAT(read.error().text(), HasSubstr(expected)) << file;
    EXPECT_THAT(read.error().text(), HasSubstr(file.string()));
  }
}

}  // namespace
}  // namespace swage::controller
