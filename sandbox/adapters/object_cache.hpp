#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/base/files.hpp"
#include "sandbox/api/bundle.hpp"

namespace swage::sandbox {

/// What a compilation left: the file, and what the compiler said while making it.
struct CachedObject {
  std::string content;
  std::string diagnostics;
};

/// Files by key below one directory that only the compile service may enter. A file appears whole
/// (written beside, then renamed), so a reader needs no lock. It begins with a digest of its key
/// and of all that follows: an entry that a disk has damaged, or that was made for another key, is
/// removed when it is read, and counts as absent. Blocking; any thread.
class ObjectCache {
 public:
  ObjectCache(std::filesystem::path directory, std::filesystem::path header_directory,
              unsigned slots);
  Result<void, FileError> make_directories() const;

  /// Also what an image brought (use_headers_of).
  std::optional<CachedObject> object(const std::string& key) const;
  std::optional<CachedObject> library(const std::string& key) const;
  Result<void, FileError> keep_object(const std::string& key, const CachedObject& object) const;
  Result<void, FileError> keep_library(const std::string& key, const CachedObject& library) const;

  /// Lock files: of one key (shared by some keys), one a slot, and that of the headers.
  std::filesystem::path lock_of(const std::string& key) const;
  std::vector<std::filesystem::path> slots() const;
  std::filesystem::path header_lock() const { return headers_ / "lock"; }

  /// What is made once per toolchain.
  std::filesystem::path header_place(const std::string& toolchain_id) const;
  std::filesystem::path stub_place(const std::string& toolchain_id) const;
  std::filesystem::path symbol_file(const std::string& toolchain_id) const;
  bool headers_complete(const std::string& toolchain_id) const;
  /// From now on uses what lies in another header directory, if it is complete there. It is only
  /// read: an image may bring it.
  bool use_headers_of(const std::filesystem::path& header_directory,
                      const std::string& toolchain_id);
  void mark_headers_complete(const std::string& toolchain_id) const;
  /// Puts an object beside the headers, for the images that bring both.
  Result<void, FileError> keep_beside_headers(const std::string& toolchain_id,
                                              const std::string& key,
                                              const CachedObject& object) const;

 private:
  std::filesystem::path directory_, headers_;
  std::filesystem::path installed_objects_;  ///< empty: none
  unsigned slots_;
};

/// One compilation's directory, gone with it: `source` and `output`.
class Scratch {
 public:
  explicit Scratch(const std::filesystem::path& parent);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  /// Writes files below source(). Their paths have passed check_bundle_path.
  Result<void, FileError> lay(const std::vector<const WorkFile*>& files) const;
  std::filesystem::path source() const { return directory_ / "source"; }
  std::filesystem::path output() const { return directory_ / "output"; }

 private:
  std::filesystem::path directory_;
};

/// Renames, or copies and renames where the two lie on different file systems.
Result<void, FileError> move_file(const std::filesystem::path& from,
                                  const std::filesystem::path& to);

}  // namespace swage::sandbox
