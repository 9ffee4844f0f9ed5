#include "gpu_pool/judge/core/call_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "gpu_pool/judge/core/bands.hpp"

namespace swage::judge {
namespace {

constexpr std::uint64_t kArena = 1U << 20;
constexpr std::uint64_t kInputs = 1U << 16;

/// A page with one float32[2, 3] result at 4096.
CallPage honest_page() {
  CallPage page{};
  page.status = 1;
  page.outputs = 1;
  PageOutput& out = page.output[0];
  out.offset = 4096;
  out.type = 1;
  out.dimensions = 2;
  out.shape[0] = 2;
  out.shape[1] = 3;
  out.stride[0] = 3;
  out.stride[1] = 1;
  out.storage_offset = 4096;
  out.storage_bytes = 24;
  return page;
}

std::string refusal(const CallPage& page) {
  const auto read = read_outputs(page, kArena, kInputs);
  return read ? "accepted" : read.error();
}

TEST(CallPage, AnHonestResultIsReadAsItStands) {
  const auto read = read_outputs(honest_page(), kArena, kInputs);
  ASSERT_TRUE(read.has_value()) << read.error();
  EXPECT_EQ(read->container, 0U);
  ASSERT_EQ(read->outputs.size(), 1U);
  EXPECT_EQ(read->outputs[0].bytes, 24U);
  EXPECT_EQ(describe(read->outputs[0].spec), "float32[2, 3]");
}

TEST(CallPage, AResultMayEndExactlyWhereTheArenaEnds) {
  CallPage page = honest_page();
  page.output[0].offset = page.output[0].storage_offset = kArena - 24;
  EXPECT_EQ(refusal(page), "accepted");
  page.output[0].offset = page.output[0].storage_offset = kArena - 20;
  EXPECT_EQ(refusal(page), "a result lies outside its memory");
}

TEST(CallPage, AnOffsetNearTheTopOfTheNumbersDoesNotWrapAround) {
  CallPage page = honest_page();
  page.output[0].offset = std::numeric_limits<std::uint64_t>::max() - 8;
  EXPECT_EQ(refusal(page), "a result lies outside its memory");
}

TEST(CallPage, AShapeWhoseProductOverflowsIsRefused) {
  CallPage page = honest_page();
  page.output[0].shape[0] = std::int64_t{1} << 40;
  page.output[0].shape[1] = std::int64_t{1} << 40;
  EXPECT_EQ(refusal(page), "shape and strides are impossible");
}

TEST(CallPage, NegativeSizesAndStridesAreRefused) {
  CallPage page = honest_page();
  page.output[0].shape[0] = -2;
  EXPECT_EQ(refusal(page), "shape and strides are impossible");
  page = honest_page();
  page.output[0].stride[0] = -3;
  EXPECT_EQ(refusal(page), "shape and strides are impossible");
}

TEST(CallPage, AStrideThatLeavesTheArenaIsRefused) {
  CallPage page = honest_page();
  page.output[0].stride[0] = static_cast<std::int64_t>(kArena / 4);
  EXPECT_EQ(refusal(page), "a result lies outside its memory");
}

TEST(CallPage, CountsTypesAndRegionsMustExist) {
  CallPage page = honest_page();
  page.outputs = 0;
  EXPECT_EQ(refusal(page), "impossible number of results");
  page.outputs = 9;
  EXPECT_EQ(refusal(page), "impossible number of results");
  page = honest_page();
  page.output[0].type = 11;
  EXPECT_EQ(refusal(page), "unknown element type code");
  page = honest_page();
  page.output[0].dimensions = 9;
  EXPECT_EQ(refusal(page), "too many dimensions");
  page = honest_page();
  page.output[0].region = 2;
  EXPECT_EQ(refusal(page), "unknown region");
  page = honest_page();
  page.container = 3;
  EXPECT_EQ(refusal(page), "unknown container");
}

TEST(CallPage, AResultOutsideItsStorageOrMisalignedIsRefused) {
  CallPage page = honest_page();
  page.output[0].storage_bytes = 20;
  EXPECT_EQ(refusal(page), "a result lies outside its storage");
  page = honest_page();
  page.output[0].offset = 4098;
  EXPECT_EQ(refusal(page), "a result is not aligned");
}

TEST(CallPage, AResultWithoutElementsHasNoPlace) {
  CallPage page = honest_page();
  page.output[0] = PageOutput{};
  page.output[0].type = 1;
  page.output[0].dimensions = 1;
  page.output[0].stride[0] = 1;
  EXPECT_EQ(refusal(page), "accepted");
}

/// An arena with bands around [4096, 4096 + bytes).
std::vector<std::byte> arena_with_bands(std::size_t bytes) {
  std::vector<std::byte> arena(5 * kBandBytes, kBandByte);
  std::fill_n(arena.begin() + kBandBytes, bytes, std::byte{1});
  return arena;
}

TEST(Bands, AreWholeWhenOnlyTheAllocationWasWritten) {
  EXPECT_TRUE(bands_intact(arena_with_bands(5000), kBandBytes, 5000));
}

TEST(Bands, ShowAWriteOfOneByteBeforeBehindAndInTheRestOfTheLastPage) {
  for (const std::size_t at :
       {kBandBytes - 1, kBandBytes + 5000, 3 * kBandBytes - 1, 4 * kBandBytes - 1}) {
    auto arena = arena_with_bands(5000);
    arena[at] = std::byte{0};
    EXPECT_FALSE(bands_intact(arena, kBandBytes, 5000)) << at;
  }
  auto arena = arena_with_bands(5000);
  arena[4 * kBandBytes] = std::byte{0};  // the first byte that belongs to somebody else
  EXPECT_TRUE(bands_intact(arena, kBandBytes, 5000));
}

}  // namespace
}  // namespace swage::judge
