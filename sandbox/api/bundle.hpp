#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace swage::sandbox {

/// One file of a work directory.
struct WorkFile {
  std::string path;  ///< relative, `/` separated, no `.` or `..`, <= 255 bytes
  std::uint32_t mode = 0644;
  std::string content;
  bool operator==(const WorkFile&) const = default;
};

inline constexpr std::size_t kMaxBundleFiles = 64;
inline constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;
/// A bundle travels in one gRPC message (common/rpc): files, library and 64 KiB of diagnostics
/// share it (docs/decisions/0005-a-bundle-in-one-message.md).
inline constexpr std::size_t kMaxBundleBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxFilesBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMaxLibraryBytes = std::size_t{11} << 20;

/// The canonical manifest: `path mode size sha256\n` a file, sorted by path; then, unless `library`
/// is empty, `library 0444 size sha256\n`. mode: four octal digits.
std::string manifest_of(std::vector<WorkFile> files, std::string_view library);

/// SHA-256 of the manifest: a bundle's id, or, over the agent's own files, a work digest.
std::string bundle_id(std::vector<WorkFile> files, std::string_view library);
std::string work_digest(std::vector<WorkFile> agent_files);

/// Whether a path may stand in a bundle. Error: one sentence.
Result<void, std::string> check_bundle_path(std::string_view path);

/// Counts, sizes (each and together) and paths against the limits above; no path twice. Error: one
/// sentence that says what to remove.
Result<void, std::string> check_bundle_files(const std::vector<WorkFile>& files);

/// The library's size against its limit. Error: one sentence.
Result<void, std::string> check_bundle_library(std::string_view library);

}  // namespace swage::sandbox
