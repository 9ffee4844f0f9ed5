#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/check.hpp"
#include "rollout_worker/core/tool_call_parser.hpp"

/// Policy text with tool calls: it is read the same however it is cut into pieces.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using swage::rollout_worker::HermesParser;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  HermesParser whole;
  whole.feed(text);
  const auto calls = whole.finish();
  const std::size_t step = size == 0 ? 1 : 1 + data[0] % 7;
  HermesParser pieces;
  for (std::size_t at = 0; at < size; at += step) pieces.feed(text.substr(at, step));
  const auto again = pieces.finish();
  swage::check(calls.size() == again.size(), "the cut changes the number of calls");
  for (std::size_t i = 0; i < calls.size(); ++i)
    swage::check(calls[i].raw == again[i].raw && calls[i].error == again[i].error,
                 "the cut changes a call");
  return 0;
}
