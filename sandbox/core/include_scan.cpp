#include "sandbox/core/include_scan.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace swage::sandbox {
namespace {

/// Physical lines joined where a backslash ends one.
std::vector<std::string> logical_lines(std::string_view source) {
  std::vector<std::string> lines;
  std::string line;
  while (true) {
    const auto end = source.find('\n');
    auto part = source.substr(0, end);
    if (part.ends_with('\r')) part.remove_suffix(1);
    const bool joined = part.ends_with('\\') && end != std::string_view::npos;
    if (joined) part.remove_suffix(1);
    line += part;
    if (!joined) {
      lines.push_back(line);
      line.clear();
    }
    if (end == std::string_view::npos) return lines;
    source.remove_prefix(end + 1);
  }
}

/// Every text between `open` and `close`, which may be the same character.
std::vector<std::string> between(std::string_view line, char open, char close) {
  std::vector<std::string> out;
  while (true) {
    const auto from = line.find(open);
    if (from == std::string_view::npos) return out;
    const auto to = line.find(close, from + 1);
    if (to == std::string_view::npos) return out;
    out.emplace_back(line.substr(from + 1, to - from - 1));
    line.remove_prefix(to + 1);
  }
}

}  // namespace

IncludeNames scan_includes(std::string_view source) {
  IncludeNames out;
  for (const auto& line : logical_lines(source)) {
    if (line.find("include") == std::string::npos) continue;
    auto names = between(line, '"', '"');
    for (auto& name : between(line, '<', '>')) names.push_back(std::move(name));
    if (names.empty() && line.find('#') != std::string::npos) out.computed = true;
    for (auto& name : names) out.names.push_back(std::move(name));
  }
  return out;
}

std::vector<const WorkFile*> visible_files(const std::vector<WorkFile>& files,
                                           const WorkFile& unit) {
  std::map<std::string, const WorkFile*> by_path;
  for (const auto& file : files) by_path.emplace(file.path, &file);
  std::set<std::string> seen{unit.path};
  std::vector<const WorkFile*> open{&unit};
  const auto add = [&](const std::filesystem::path& path) {
    const auto found = by_path.find(path.lexically_normal().generic_string());
    if (found != by_path.end() && seen.insert(found->first).second) open.push_back(found->second);
  };
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto* file = open[i];
    const auto includes = scan_includes(file->content);
    if (includes.computed)
      for (const auto& other : files) add(other.path);
    for (const auto& name : includes.names) {
      add(std::filesystem::path(file->path).parent_path() / name);
      add(name);
      add(std::filesystem::path("kernels") / name);
    }
  }
  std::ranges::sort(open, {}, [](const WorkFile* file) { return std::string_view(file->path); });
  return open;
}

}  // namespace swage::sandbox
