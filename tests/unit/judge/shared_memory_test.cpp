#include "gpu_pool/judge/adapters/shared_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace swage::judge {
namespace {

TEST(SharedMemory, NobodyCanChangeItsSize) {
  auto memory = SharedMemory::make("test", 8192);
  ASSERT_TRUE(memory.has_value());
  EXPECT_NE(::ftruncate(memory->descriptor().get(), 0), 0);
  EXPECT_NE(::ftruncate(memory->descriptor().get(), 1 << 20), 0);
}

TEST(SharedMemory, OnlyMappingsFromBeforeTheSealMayWrite) {
  auto memory = SharedMemory::make("test", 4096);
  ASSERT_TRUE(memory.has_value());
  const int file = memory->descriptor().get();
  void* before = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  EXPECT_NE(before, MAP_FAILED) << "without the seal anybody may";
  ::munmap(before, 4096);
  ASSERT_TRUE(memory->seal_against_new_writers().has_value());
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), MAP_FAILED);
  void* reader = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
  ASSERT_NE(reader, MAP_FAILED);
  EXPECT_NE(::mprotect(reader, 4096, PROT_READ | PROT_WRITE), 0);
  memory->bytes()[7] = std::byte{42};  // the judge's own mapping keeps its right
  EXPECT_EQ(static_cast<const std::byte*>(reader)[7], std::byte{42});
  EXPECT_LT(::pwrite(file, "x", 1, 0), 0);
  ::munmap(reader, 4096);
}

TEST(SharedMemory, MemoryThatIsSmallerThanSaidIsRefused) {
  auto memory = SharedMemory::make("test", 4096);
  ASSERT_TRUE(memory.has_value());
  Descriptor copy(::dup(memory->descriptor().get()));
  EXPECT_FALSE(SharedMemory::open(std::move(copy), 8192).has_value());
}

}  // namespace
}  // namespace swage::judge
