#include "learner/adapters/checkpoint_store.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/base/digest.hpp"
#include "common/base/files.hpp"
#include "common/base/json_text.hpp"

namespace swage::learner {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kManifest = "MANIFEST.json";
constexpr const char* kState = "state.json";
constexpr std::size_t kKeepLast = 3;

tl::unexpected<TrainerError> failed(int error, const std::string& what) {
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return tl::unexpected(TrainerError{
      full ? TrainerError::Code::disk_full : TrainerError::Code::io,
      what + ": " + std::strerror(error) + (full ? "; free some space and resume" : "")});
}

tl::unexpected<TrainerError> damaged(const std::string& what) {
  return tl::unexpected(TrainerError{TrainerError::Code::damaged, what});
}

std::optional<std::string> file_sha256(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  Sha256 sum;
  std::string buffer(1U << 20U, '\0');
  while (in) {
    in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    sum.update(std::string_view(buffer).substr(0, static_cast<std::size_t>(in.gcount())));
  }
  if (in.bad()) return std::nullopt;
  return sum.hex();
}

Result<void, TrainerError> sync_path(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return failed(errno, "cannot open " + path.string());
  const int result = ::fsync(file);
  const int error = errno;
  ::close(file);
  if (result != 0) return failed(error, "cannot sync " + path.string());
  return {};
}

std::vector<fs::path> files_below(const fs::path& directory) {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(directory, error))
    if (entry.is_regular_file()) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

/// MANIFEST.json over everything in `directory`, then every file and folder synced.
Result<void, TrainerError> seal(const fs::path& directory, std::uint64_t ordinal, bool boundary,
                                bool healthy) {
  json files = json::object();
  for (const auto& path : files_below(directory)) {
    const auto sum = file_sha256(path);
    if (!sum) return failed(errno, "cannot read " + path.string());
    files[fs::relative(path, directory).string()] = {{"bytes", fs::file_size(path)},
                                                     {"sha256", *sum}};
  }
  const json manifest{{"schema_version", 1},
                      {"ordinal", ordinal},
                      {"boundary", boundary},
                      {"healthy", healthy},
                      {"files", files}};
  if (auto wrote = write_file_durably(directory / kManifest, json_text(manifest, 1) + "\n"); !wrote)
    return failed(wrote.error().code.value(), wrote.error().message);
  for (const auto& path : files_below(directory))
    if (auto synced = sync_path(path); !synced) return synced;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(directory, error))
    if (entry.is_directory())
      if (auto synced = sync_path(entry.path()); !synced) return synced;
  return sync_path(directory);
}

std::optional<json> manifest_of(const fs::path& checkpoint) {
  const auto text = read_file(checkpoint / kManifest);
  if (!text) return std::nullopt;
  auto manifest = json::parse(*text, nullptr, false);
  if (!manifest.is_object() || manifest.value("schema_version", 0) != 1 ||
      !manifest.contains("files") || !manifest.contains("ordinal"))
    return std::nullopt;
  return manifest;
}

bool is_leftover(const fs::path& path) { return path.filename().string().starts_with("tmp-"); }

std::vector<fs::path> directories_in(const fs::path& directory) {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error))
    if (entry.is_directory()) out.push_back(entry.path());
  return out;
}

}  // namespace

Result<CheckpointStore, TrainerError> CheckpointStore::open(fs::path directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return failed(error.value(), "cannot make " + directory.string());
  CheckpointStore store(std::move(directory));
  for (const auto& path : directories_in(store.directory_))
    if (is_leftover(path)) fs::remove_all(path, error);
  const auto known = store.list();
  if (!known.empty()) store.next_ordinal_ = known.front().ordinal + 1;
  return store;
}

Result<void, TrainerError> CheckpointStore::write(
    const std::string& name, const std::string& state, bool boundary, bool healthy,
    const std::function<Result<void, TrainerError>(const fs::path&)>& fill) {
  const auto temporary = directory_ / ("tmp-" + name);
  const auto target = directory_ / name;
  std::error_code error;
  fs::remove_all(temporary, error);
  const auto abandon = [&](Result<void, TrainerError> why) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    return why;
  };
  if (!fs::create_directory(temporary, error) || error)
    return failed(error.value(), "cannot make " + temporary.string());
  if (auto filled = fill(temporary); !filled) return abandon(filled);
  if (auto wrote = write_file_durably(temporary / kState, state); !wrote)
    return abandon(failed(wrote.error().code.value(), wrote.error().message));
  if (auto sealed = seal(temporary, next_ordinal_, boundary, healthy); !sealed)
    return abandon(sealed);
  // An older checkpoint of this name changes places with the new one in one step.
  const unsigned flags = fs::exists(target) ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, target.c_str(), flags) != 0)
    return abandon(failed(errno, "cannot rename " + temporary.string()));
  if (auto synced = sync_path(directory_); !synced) return synced;
  ++next_ordinal_;
  fs::remove_all(temporary, error);
  prune();
  return {};
}

std::vector<CheckpointInfo> CheckpointStore::list() const {
  std::vector<CheckpointInfo> out;
  for (const auto& path : directories_in(directory_)) {
    if (is_leftover(path)) continue;
    const auto manifest = manifest_of(path);
    if (!manifest) continue;
    out.push_back({path, manifest->value("ordinal", std::uint64_t{0}),
                   manifest->value("boundary", false), manifest->value("healthy", false)});
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.ordinal > b.ordinal; });
  return out;
}

std::size_t CheckpointStore::unreadable() const {
  std::size_t count = 0;
  for (const auto& path : directories_in(directory_))
    if (!is_leftover(path) && !manifest_of(path)) ++count;
  return count;
}

Result<void, TrainerError> CheckpointStore::verify(const fs::path& checkpoint) {
  const auto manifest = manifest_of(checkpoint);
  if (!manifest) return damaged(checkpoint.string() + " has no readable MANIFEST.json");
  for (const auto& [name, file] : manifest->at("files").items()) {
    const auto path = checkpoint / name;
    std::error_code error;
    if (fs::file_size(path, error) != file.value("bytes", std::uint64_t{0}) || error)
      return damaged(path.string() + " is missing or has another size than its manifest says");
    const auto sum = file_sha256(path);
    if (!sum || *sum != file.value("sha256", ""))
      return damaged(path.string() + " has another SHA-256 than its manifest says");
  }
  if (!manifest->at("files").contains(kState))
    return damaged(checkpoint.string() + " has no state.json");
  return {};
}

Result<std::string, TrainerError> CheckpointStore::state_of(const fs::path& checkpoint) {
  auto text = read_file(checkpoint / kState);
  if (!text) return damaged(text.error().message);
  return std::move(*text);
}

void CheckpointStore::prune() const {
  const auto all = list();
  bool healthy_kept = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool newest_healthy = all[i].healthy && !healthy_kept;
    healthy_kept = healthy_kept || all[i].healthy;
    if (i < kKeepLast || all[i].boundary || newest_healthy) continue;
    std::error_code error;
    // Renamed first: a crash half-way through the removal leaves no checkpoint that looks whole.
    const auto doomed = directory_ / ("tmp-old-" + all[i].directory.filename().string());
    fs::rename(all[i].directory, doomed, error);
    fs::remove_all(error ? all[i].directory : doomed, error);
  }
}

}  // namespace swage::learner
