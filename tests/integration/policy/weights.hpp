#pragma once

#include <cstdint>
#include <string>

namespace swage::policy::test {

/// A fresh tiny model's flat buffer. In a source file of its own: torch's headers and protobuf's do
/// not agree.
std::string scratch_weights(std::int64_t vocabulary, std::uint64_t seed);

}  // namespace swage::policy::test
