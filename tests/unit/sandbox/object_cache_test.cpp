#include "sandbox/adapters/object_cache.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace swage::sandbox
