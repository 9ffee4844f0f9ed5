#include "policy/core/weight_assembly.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/digest.hpp"

namespace swage::policy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Answer = WeightAssembly::Answer;
using Chunk = WeightAssembly::Chunk;

const WeightLayout kLayout{{{"a", {64}, 0, 256}, {"b", {10}, 256, 40}}, 512};
const std::string kBytes(512, 'w');

WeightManifest manifest(std::uint64_t version, const std::string& bytes = kBytes) {
  WeightManifest m{"uid", version, 0, "digest", "f32", kLayout, 200, {}, sha256_hex(bytes)};
  for (std::size_t at = 0; at < bytes.size(); at += 200)
    m.chunk_crc32c.push_back(crc32c(std::string_view(bytes).substr(at, 200)));
  return m;
}
std::string_view part(std::size_t index) {
  return std::string_view(kBytes).substr(index * 200, 200);
}

WeightAssembly assembly() { return {"uid", "digest", kLayout}; }

void take_all(WeightAssembly& a, std::uint64_t version) {
  for (std::uint32_t i : {2U, 0U, 1U}) EXPECT_EQ(a.chunk(version, i, part(i)), Chunk::taken);
}

TEST(WeightAssembly, ChunksInAnyOrderMakeAVersion) {
  auto a = assembly();
  EXPECT_EQ(a.offer(manifest(3)).answer, Answer::send);
  EXPECT_THAT(a.missing(), ElementsAre(0, 1, 2));
  take_all(a, 3);
  ASSERT_TRUE(a.complete(3));
  const auto held = a.finish();
  ASSERT_TRUE(held);
  EXPECT_EQ(*held->bytes, kBytes);
  EXPECT_EQ(a.held_version(), 3U);
}

TEST(WeightAssembly, ABadChecksumIsRefusedAndTheRightChunkTakenAfterwards) {
  auto a = assembly();
  a.offer(manifest(1));
  std::string flipped(part(1));
  flipped[7] ^= 1;
  EXPECT_EQ(a.chunk(1, 1, flipped), Chunk::bad);
  EXPECT_THAT(a.missing(), ElementsAre(0, 1, 2));
  EXPECT_EQ(a.chunk(1, 1, part(1)), Chunk::taken);
  EXPECT_THAT(a.missing(), ElementsAre(0, 2));
}

TEST(WeightAssembly, ChunksOfTheWrongSizeIndexOrVersionAreNotAskedFor) {
  auto a = assembly();
  EXPECT_EQ(a.chunk(1, 0, part(0)), Chunk::unasked);
  a.offer(manifest(1));
  EXPECT_EQ(a.chunk(1, 3, part(0)), Chunk::unasked);
  EXPECT_EQ(a.chunk(1, 0, part(2)), Chunk::unasked);
  EXPECT_EQ(a.chunk(2, 0, part(0)), Chunk::unasked);
}

TEST(WeightAssembly, AnOfferIsContinuedWhereItStoppedAndANewerOneDiscardsIt) {
  auto a = assembly();
  a.offer(manifest(1));
  a.chunk(1, 0, part(0));
  a.offer(manifest(1));
  EXPECT_THAT(a.missing(), ElementsAre(1, 2));
  a.offer(manifest(2));
  EXPECT_THAT(a.missing(), ElementsAre(0, 1, 2));
  EXPECT_EQ(a.offer(manifest(1)).answer, Answer::stale);  // a newer one is on its way
  EXPECT_EQ(a.chunk(1, 1, part(1)), Chunk::unasked);
}

TEST(WeightAssembly, VersionsOnlyRise) {
  auto a = assembly();
  a.offer(manifest(5));
  take_all(a, 5);
  ASSERT_TRUE(a.finish());
  EXPECT_EQ(a.offer(manifest(5)).answer, Answer::stale);
  EXPECT_EQ(a.offer(manifest(4)).answer, Answer::stale);
  EXPECT_EQ(a.offer(manifest(6)).answer, Answer::send);
}

TEST(WeightAssembly, AManifestOfAnotherModelOrRunOrOneThatContradictsItselfIsIncompatible) {
  const auto refuse = [](auto change, const std::string& why) {
    auto a = assembly();
    auto m = manifest(1);
    change(m);
    const auto offer = a.offer(m);
    EXPECT_EQ(offer.answer, Answer::incompatible);
    EXPECT_THAT(offer.detail, HasSubstr(why));
  };
  refuse([](auto& m) { m.config_digest = "other"; }, "config digest other");
  refuse([](auto& m) { m.run_uid = "other"; }, "run other");
  refuse([](auto& m) { m.dtype = "bf16"; }, "bf16");
  refuse([](auto& m) { m.layout.tensors[1].offset = 300; }, "tensors lie differently");
  refuse([](auto& m) { m.version = 0; }, "version 0");
  refuse([](auto& m) { m.chunk_bytes = 0; }, "chunks of 0");
  refuse([](auto& m) { m.chunk_bytes = 9 << 20; }, "chunks of");
  refuse([](auto& m) { m.chunk_crc32c.pop_back(); }, "2 checksums for 3 chunks");
}

TEST(WeightAssembly, AWholeThatDoesNotAgreeIsDiscardedAndCanComeAgain) {
  auto a = assembly();
  auto wrong = manifest(1);
  wrong.sha256 = std::string(64, '0');
  a.offer(wrong);
  take_all(a, 1);
  EXPECT_FALSE(a.finish());
  EXPECT_EQ(a.held_version(), 0U);
  EXPECT_EQ(a.offer(manifest(1)).answer, Answer::send);
  take_all(a, 1);
  EXPECT_TRUE(a.finish());
}

}  // namespace
}  // namespace swage::policy
