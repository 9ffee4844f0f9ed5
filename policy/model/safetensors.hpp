#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "policy/model/config.hpp"

namespace swage::policy {

/// Where one tensor lies in a safetensors file.
struct TensorRecord {
  std::string name;
  std::string dtype;  ///< `F32`, `BF16`, `F16`, …, as the file says
  std::vector<std::int64_t> shape;
  std::uint64_t offset = 0;  ///< bytes from the start of the file
  std::uint64_t bytes = 0;
};

/// Reads and checks a header: sizes agree with shapes, ranges lie inside the file and do not
/// overlap. start: the file's first bytes, at least 8 + header; file_bytes: its whole size.
Result<std::vector<TensorRecord>, ModelError> parse_safetensors(std::string_view start,
                                                                std::uint64_t file_bytes);

/// The same from a file. Errors name the file.
Result<std::vector<TensorRecord>, ModelError> read_safetensors_header(
    const std::filesystem::path& file);

/// The 8-byte length and header of a file whose float32 tensors follow in this order.
std::string safetensors_header(const std::vector<TensorSpec>& tensors);

}  // namespace swage::policy
