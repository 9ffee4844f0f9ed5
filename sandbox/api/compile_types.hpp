#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace swage::sandbox {

/// Where the compiler and the headers of bindings come from. Part of every cache key.
struct Toolchain {
  std::string cxx = "/usr/bin/g++";
  std::filesystem::path torch_directory;  ///< the wheel's torch folder: include/ and lib/
  std::filesystem::path python;           ///< interpreter whose headers bindings include
  std::filesystem::path cuda_directory;   ///< bin/nvcc and what belongs to it; empty: no CUDA
};

/// What was asked and what it cost; the fields of swage.v1.CompileRecord.
struct CompileRecord {
  std::vector<std::string> source_sha256;  ///< one per translation unit, sorted
  std::vector<std::string> argv;           ///< of the link step
  std::string toolchain;                   ///< compiler name and version
  std::string library_sha256;
  std::chrono::milliseconds wall{0};
  std::uint32_t units = 0;
  std::uint32_t cache_hits = 0;
};

struct CompileOutcome {
  bool compiled = false;
  std::string library;  ///< cuda_extension.so; empty unless compiled
  std::string
      diagnostics;  ///< compiler output, <= 64 KiB, file:line relative to the work directory
  CompileRecord record;
};

}  // namespace swage::sandbox
