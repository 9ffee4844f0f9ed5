#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "common/base/result.hpp"

namespace swage {

/// Why a file operation failed: the system's error and the path, as one sentence for people.
struct FileError {
  std::error_code code;
  std::string message;
};

/// Whole content. Errors: as the system says.
Result<std::string, FileError> read_file(const std::filesystem::path& path);

/// Writes `<path>.tmp-…`, syncs, renames over `path`, syncs the directory: after a crash the old
/// content or the new one is there, never a part. `mode` are permission bits.
Result<void, FileError> write_file_durably(const std::filesystem::path& path,
                                           std::string_view content, unsigned mode = 0644);

/// fsync of a directory, so that names made in it survive a crash.
Result<void, FileError> sync_directory(const std::filesystem::path& path);

/// An environment variable with a fallback. For `main`, the commands of `swage` and tests: a
/// process of a run is told everything by its configuration.
std::string environment_or(const char* name, std::string_view fallback);

/// Where swage keeps downloads and caches: ${XDG_CACHE_HOME:-~/.cache}/swage.
std::filesystem::path cache_directory();

/// site-packages/torch of a Python virtual environment; empty where there is none.
std::filesystem::path torch_directory(const std::filesystem::path& environment);

}  // namespace swage
