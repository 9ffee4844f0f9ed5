#include "sandbox/api/bundle.hpp"

#include <algorithm>
#include <cstdio>

#include "common/base/digest.hpp"

namespace swage::sandbox {
namespace {

constexpr std::size_t kMaxPathBytes = 255;

std::string manifest_line(std::string_view path, std::uint32_t mode, std::string_view content) {
  char octal[16];
  std::snprintf(octal, sizeof octal, "%04o", mode & 07777U);
  std::string out(path);
  out += ' ';
  out += octal;
  out += ' ' + std::to_string(content.size()) + ' ' + sha256_hex(content) + '\n';
  return out;
}

bool plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '+';
}

}  // namespace

std::string manifest_of(std::vector<WorkFile> files, std::string_view library) {
  std::ranges::sort(files, {}, &WorkFile::path);
  std::string out;
  for (const auto& file : files) out += manifest_line(file.path, file.mode, file.content);
  if (!library.empty()) out += manifest_line("library", 0444, library);
  return out;
}

std::string bundle_id(std::vector<WorkFile> files, std::string_view library) {
  return sha256_hex(manifest_of(std::move(files), library));
}

std::string work_digest(std::vector<WorkFile> agent_files) {
  return bundle_id(std::move(agent_files), {});
}

Result<void, std::string> check_bundle_path(std::string_view path) {
  const auto refuse = [&](const char* why) {
    return tl::unexpected("`" + std::string(path.substr(0, 64)) + "` " + why);
  };
  if (path.empty()) return refuse("is not a file name; name the file.");
  if (path.size() > kMaxPathBytes) return refuse("has a path above 255 bytes; shorten it.");
  std::string_view rest = path;
  while (true) {
    const auto slash = rest.find('/');
    const auto part = rest.substr(0, slash);
    if (part.empty() || part == "." || part == "..")
      return refuse("is not a plain relative path; leave out empty, `.` and `..` parts.");
    if (!std::ranges::all_of(part, plain))
      return refuse("has a name with other characters than letters, digits and `_-.+`; rename it.");
    if (slash == std::string_view::npos) return {};
    rest.remove_prefix(slash + 1);
  }
}

Result<void, std::string> check_bundle_files(const std::vector<WorkFile>& files) {
  if (files.size() > kMaxBundleFiles)
    return tl::unexpected("There are " + std::to_string(files.size()) +
                          " files to hand in and 64 is the most; remove what is not needed.");
  std::vector<std::string_view> paths;
  std::size_t bytes = 0;
  for (const auto& file : files) {
    if (auto ok = check_bundle_path(file.path); !ok) return ok;
    if (file.content.size() > kMaxFileBytes)
      return tl::unexpected("`" + file.path + "` is larger than 1 MiB; make it smaller.");
    paths.push_back(file.path);
    bytes += file.content.size();
  }
  if (bytes > kMaxFilesBytes)
    return tl::unexpected(
        std::string("The files to hand in are larger than 4 MiB together; make them smaller."));
  std::ranges::sort(paths);
  const auto twice = std::ranges::adjacent_find(paths);
  if (twice != paths.end())
    return tl::unexpected("`" + std::string(*twice) + "` occurs twice; keep one.");
  return {};
}

Result<void, std::string> check_bundle_library(std::string_view library) {
  if (library.size() > kMaxLibraryBytes)
    return tl::unexpected(std::string("the library is larger than 11 MiB; make it smaller"));
  return {};
}

}  // namespace swage::sandbox
