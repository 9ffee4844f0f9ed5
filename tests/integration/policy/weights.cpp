#include "tests/integration/policy/weights.hpp"

#include "policy/model/decoder.hpp"

namespace swage::policy::test {

std::string scratch_weights(std::int64_t vocabulary, std::uint64_t seed) {
  return flat_weights(Decoder::scratch(tiny_config(vocabulary), seed));
}

}  // namespace swage::policy::test
