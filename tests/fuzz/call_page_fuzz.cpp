#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/base/check.hpp"
#include "gpu_pool/judge/core/call_page.hpp"

/// The page that a candidate's process shares with the judge: what is taken lies in its region.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace swage::judge;
  constexpr std::uint64_t kArena = 1U << 20U;
  constexpr std::uint64_t kInputs = 1U << 16U;
  CallPage page{};
  std::memcpy(&page, data, std::min(size, sizeof page));
  const auto read = read_outputs(page, kArena, kInputs);
  if (!read) return 0;
  for (const auto& output : read->outputs) {
    const auto region = output.region == Output::Region::arena ? kArena : kInputs;
    swage::check(output.offset <= region && output.bytes <= region - output.offset,
                 "an output leaves its region");
  }
  return 0;
}
