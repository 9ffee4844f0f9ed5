#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "sandbox/api/compile_types.hpp"

namespace swage::sandbox {

/// The compiler and the headers, found and named.
struct ToolchainFacts {
  std::string name;                      ///< "g++ 12.2.0", for people
  std::string id;                        ///< digest of versions, part of every cache key
  std::filesystem::path python_include;  ///< with Python.h
};

/// Asks compiler and interpreter for their versions. Blocks for about 50 ms. Error: what is missing
/// and the remedy.
Result<ToolchainFacts, std::string> examine_toolchain(const Toolchain& toolchain);

/// Writes `symbols` into `directory`: the sorted names that torch's libraries export, one a line.
/// Blocks for about half a second. Error: which library cannot be read.
Result<void, std::string> write_known_symbols(const Toolchain& toolchain,
                                              const std::filesystem::path& file);

/// A file's bytes, mapped and read-only; gone with the object.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::optional<std::string_view> bytes() const;

 private:
  void* at_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace swage::sandbox
