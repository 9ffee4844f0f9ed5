#include "sandbox/adapters/object_cache.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/base/files.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::sandbox {
namespace {

TEST(ObjectCache, WhatAnImageBringsIsFoundForItsToolchainOnly) {
  const test::TempDirectory place;
  const std::string key(64, 'a');
  const auto image = place.path() / "image";
  ObjectCache maker(place.path() / "maker", image, 1);
  ASSERT_TRUE(maker.make_directories());
  ASSERT_TRUE(maker.keep_beside_headers("gcc", key, {"object", "warning"}));
  maker.mark_headers_complete("gcc");

  ObjectCache user(place.path() / "user", place.path() / "headers", 1);
  ASSERT_TRUE(user.make_directories());
  EXPECT_FALSE(user.object(key));
  EXPECT_FALSE(user.use_headers_of(image, "another"));
  EXPECT_FALSE(user.object(key));
  ASSERT_TRUE(user.use_headers_of(image, "gcc"));
  ASSERT_TRUE(user.object(key));
  EXPECT_EQ(user.object(key)->content, "object");
  EXPECT_EQ(user.object(key)->diagnostics, "warning");
  ASSERT_TRUE(user.keep_object(key, {"own", ""}));
  EXPECT_EQ(user.object(key)->content, "own");
}

class StoredObject : public testing::Test {
 protected:
  StoredObject() {
    EXPECT_TRUE(cache_.make_directories());
    EXPECT_TRUE(cache_.keep_object(key_, {"object code", "a warning"}));
  }
  std::filesystem::path file(const std::string& key) const {
    return place_.path() / "objects" / key.substr(0, 2) / (key + ".o");
  }
  test::TempDirectory place_;
  const std::string key_ = std::string(64, 'a');
  const ObjectCache cache_{place_.path(), place_.path(), 1};
};

TEST_F(StoredObject, ComesBackAsItWasKept) {
  ASSERT_TRUE(cache_.object(key_));
  EXPECT_EQ(cache_.object(key_)->content, "object code");
  EXPECT_EQ(cache_.object(key_)->diagnostics, "a warning");
  const CachedObject empty;
  EXPECT_TRUE(cache_.keep_library(key_, empty));
  ASSERT_TRUE(cache_.library(key_));
  EXPECT_EQ(cache_.library(key_)->content, "");
}

TEST_F(StoredObject, IsNotUsedAndGoesWhenOneByteOfItHasFlipped) {
  const auto whole = *read_file(file(key_));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    auto damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    std::ofstream(file(key_), std::ios::binary) << damaged;
    EXPECT_FALSE(cache_.object(key_)) << "byte " << at;
    EXPECT_FALSE(std::filesystem::exists(file(key_))) << "byte " << at;
  }
  EXPECT_TRUE(cache_.keep_object(key_, {"again", ""}));
  EXPECT_EQ(cache_.object(key_)->content, "again");
}

TEST_F(StoredObject, IsNotUsedWhenItWasCutOrIsBare) {
  const auto whole = *read_file(file(key_));
  for (const auto& text :
       {whole.substr(0, whole.size() - 1), whole.substr(0, 20), std::string(), whole + "x",
        std::string("\x7f"
                    "ELF as earlier versions kept it")}) {
    std::ofstream(file(key_), std::ios::binary) << text;
    EXPECT_FALSE(cache_.object(key_)) << text;
    EXPECT_FALSE(std::filesystem::exists(file(key_))) << text;
  }
}

TEST_F(StoredObject, IsNotUsedForAnotherKeyOrAsALibrary) {
  const std::string other(64, 'b');
  std::filesystem::create_directories(file(other).parent_path());
  std::filesystem::copy_file(file(key_), file(other));
  EXPECT_FALSE(cache_.object(other));
  EXPECT_FALSE(std::filesystem::exists(file(other)));
  auto library = file(key_);
  std::filesystem::copy_file(file(key_), library.replace_extension(".so"));
  EXPECT_FALSE(cache_.library(key_));
  EXPECT_TRUE(cache_.object(key_));
}

}  // namespace
}  // namespace swage::sandbox
