#include "sandbox/adapters/object_cache.hpp"

#include <sys/stat.h>

#include <fstream>

#include "common/base/digest.hpp"

namespace swage::sandbox {
namespace {

namespace fs = std::filesystem;

FileError error_of(const char* doing, const fs::path& path, std::error_code code) {
  return {code, std::string(doing) + " " + path.string() + ": " + code.message()};
}

Result<void, FileError> make_directory(const fs::path& path, fs::perms mode) {
  std::error_code code;
  fs::create_directories(path, code);
  if (!code) fs::permissions(path, mode, code);
  if (code) return tl::unexpected(error_of("cannot make", path, code));
  return {};
}

/// Without fsync: what a crash leaves half-written is never renamed, and a cache can be made again.
Result<void, FileError> write_plainly(const fs::path& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << content;
  out.close();
  if (out.good()) return {};
  std::error_code ignored;
  fs::remove(path, ignored);
  return tl::unexpected(
      error_of("cannot write", path, std::make_error_code(std::errc::no_space_on_device)));
}

fs::path path_of(const fs::path& objects, const std::string& key, const char* ending) {
  return objects / key.substr(0, 2) / (key + ending);
}

/// An entry is `magic, digest, line end, body`; the body is the diagnostics' size in decimal, line
/// end, the diagnostics, the object.
constexpr std::string_view kMagic = "swage object 1 ";
constexpr std::size_t kDigestSize = 64;

std::string digest_of(const std::string& key, const char* ending, std::string_view body) {
  Sha256 hash;
  hash.update(std::string(kMagic) + key + ending + "\n");
  hash.update(body);
  return hash.hex();
}

std::string sealed(const std::string& key, const char* ending, const CachedObject& object) {
  const auto body =
      std::to_string(object.diagnostics.size()) + "\n" + object.diagnostics + object.content;
  return std::string(kMagic) + digest_of(key, ending, body) + "\n" + body;
}

std::optional<CachedObject> unsealed(const std::string& key, const char* ending,
                                     std::string_view entry) {
  constexpr std::size_t kHeader = kMagic.size() + kDigestSize + 1;
  if (!entry.starts_with(kMagic) || entry.size() < kHeader || entry[kHeader - 1] != '\n')
    return std::nullopt;
  const auto body = entry.substr(kHeader);
  if (entry.substr(kMagic.size(), kDigestSize) != digest_of(key, ending, body)) return std::nullopt;
  // Ours as it was written: from here on nothing can be wrong with it.
  const auto line = body.find('\n');
  const auto size = std::stoul(std::string(body.substr(0, line)));
  return CachedObject{std::string(body.substr(line + 1 + size)),
                      std::string(body.substr(line + 1, size))};
}

std::optional<CachedObject> read(const fs::path& objects, const std::string& key,
                                 const char* ending) {
  const auto path = path_of(objects, key, ending);
  const auto entry = read_file(path);
  if (!entry) return std::nullopt;
  auto object = unsealed(key, ending, *entry);
  std::error_code read_only;
  if (!object) fs::remove(path, read_only);
  return object;
}

Result<void, FileError> keep(const fs::path& objects, const std::string& key, const char* ending,
                             const CachedObject& object) {
  const auto path = path_of(objects, key, ending);
  std::error_code code;
  fs::create_directories(path.parent_path(), code);
  const fs::path beside = path.string() + "." + to_hex(random_bytes(6));
  if (auto wrote = write_plainly(beside, sealed(key, ending, object)); !wrote) return wrote;
  fs::rename(beside, path, code);
  if (code) return tl::unexpected(error_of("cannot rename to", path, code));
  return {};
}

}  // namespace

ObjectCache::ObjectCache(fs::path directory, fs::path header_directory, unsigned slots)
    : directory_(std::move(directory)),
      headers_(std::move(header_directory) / "toolchains"),
      slots_(slots) {}

Result<void, FileError> ObjectCache::make_directories() const {
  if (auto made = make_directory(directory_, fs::perms::owner_all); !made) return made;
  for (const auto& path : {directory_ / "objects", directory_ / "locks", headers_})
    if (auto made = make_directory(path, fs::perms::owner_all); !made) return made;
  return {};
}

std::optional<CachedObject> ObjectCache::object(const std::string& key) const {
  if (auto own = read(directory_ / "objects", key, ".o")) return own;
  return installed_objects_.empty() ? std::nullopt : read(installed_objects_, key, ".o");
}
std::optional<CachedObject> ObjectCache::library(const std::string& key) const {
  return read(directory_ / "objects", key, ".so");
}
Result<void, FileError> ObjectCache::keep_object(const std::string& key,
                                                 const CachedObject& object) const {
  return keep(directory_ / "objects", key, ".o", object);
}
Result<void, FileError> ObjectCache::keep_library(const std::string& key,
                                                  const CachedObject& library) const {
  return keep(directory_ / "objects", key, ".so", library);
}
Result<void, FileError> ObjectCache::keep_beside_headers(const std::string& toolchain_id,
                                                         const std::string& key,
                                                         const CachedObject& object) const {
  return keep(headers_ / toolchain_id / "objects", key, ".o", object);
}

fs::path ObjectCache::lock_of(const std::string& key) const {
  return directory_ / "locks" / ("key-" + key.substr(0, 3));
}

std::vector<fs::path> ObjectCache::slots() const {
  std::vector<fs::path> out;
  out.reserve(slots_);
  for (unsigned i = 0; i < slots_; ++i)
    out.push_back(directory_ / "locks" / ("slot-" + std::to_string(i)));
  return out;
}

fs::path ObjectCache::header_place(const std::string& toolchain_id) const {
  return headers_ / toolchain_id / "pch";
}
fs::path ObjectCache::stub_place(const std::string& toolchain_id) const {
  return headers_ / toolchain_id / "stubs";
}
fs::path ObjectCache::symbol_file(const std::string& toolchain_id) const {
  return headers_ / toolchain_id / "symbols";
}

bool ObjectCache::headers_complete(const std::string& toolchain_id) const {
  return fs::exists(headers_ / toolchain_id / "complete");
}

bool ObjectCache::use_headers_of(const fs::path& header_directory,
                                 const std::string& toolchain_id) {
  if (header_directory.empty()) return false;
  const auto there = header_directory / "toolchains";
  std::error_code unreadable;
  if (!fs::exists(there / toolchain_id / "complete", unreadable)) return false;
  headers_ = there;
  installed_objects_ = there / toolchain_id / "objects";
  return true;
}

void ObjectCache::mark_headers_complete(const std::string& toolchain_id) const {
  std::ofstream(headers_ / toolchain_id / "complete") << "1\n";
}

Scratch::Scratch(const fs::path& parent) : directory_(parent / to_hex(random_bytes(8))) {}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

Result<void, FileError> Scratch::lay(const std::vector<const WorkFile*>& files) const {
  std::error_code code;
  for (const auto& path : {source(), output()}) {
    fs::create_directories(path, code);
    if (code) return tl::unexpected(error_of("cannot make", path, code));
  }
  // -Ikernels would be named as missing in every compilation without the folder.
  fs::create_directories(source() / "kernels", code);
  for (const auto* file : files) {
    const auto path = source() / file->path;
    fs::create_directories(path.parent_path(), code);
    if (auto wrote = write_plainly(path, file->content); !wrote) return wrote;
  }
  return {};
}

Result<void, FileError> move_file(const fs::path& from, const fs::path& to) {
  std::error_code code;
  fs::rename(from, to, code);
  if (!code) return {};
  const fs::path beside = to.string() + ".new";
  fs::copy_file(from, beside, fs::copy_options::overwrite_existing, code);
  if (!code) fs::rename(beside, to, code);
  if (code) return tl::unexpected(error_of("cannot write", to, code));
  return {};
}

}  // namespace swage::sandbox
