#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "policy/tokenizer/tokenizer.hpp"

/// tokenizer.json of a model that somebody else made: refused or usable, never a crash.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = swage::policy::Tokenizer::parse(text);
  if (tokenizer) std::ignore = tokenizer->decode(tokenizer->encode("int main() {}", true));
  return 0;
}
