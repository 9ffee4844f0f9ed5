#include "sandbox/core/work_layout.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace swage::sandbox {

const std::vector<std::string>& protected_names() {
  static const std::vector<std::string> kNames{"SKILL.md", "model.py", "binding.cpp",
                                               "binding_registry.h", "utils"};
  return kNames;
}

const std::vector<std::string>& template_sources() {
  static const std::vector<std::string> kNames{"binding.cpp", "binding_registry.h"};
  return kNames;
}

bool is_protected(std::string_view path) {
  return std::ranges::any_of(protected_names(), [&](const std::string& name) {
    return path == name || path.starts_with(name + "/");
  });
}

bool is_handed_in(std::string_view path) {
  static constexpr std::array<std::string_view, 9> kEndings{".py",  ".cpp", ".cc",  ".h",  ".hpp",
                                                            ".inl", ".cu",  ".cuh", ".inc"};
  if (is_protected(path) || !check_bundle_path(path)) return false;
  const auto slash = path.find('/');
  const auto name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (slash != std::string_view::npos && path.substr(0, slash) != "kernels") return false;
  if (name.find('/') != std::string_view::npos || name.starts_with('.')) return false;
  return std::ranges::any_of(kEndings,
                             [&](std::string_view ending) { return name.ends_with(ending); });
}

std::vector<WorkFile> handed_in(std::vector<WorkFile> files) {
  std::erase_if(files, [](const WorkFile& file) { return !is_handed_in(file.path); });
  for (auto& file : files) file.mode = 0644;
  std::ranges::sort(files, {}, &WorkFile::path);
  return files;
}

std::vector<WorkFile> bundle_files(std::vector<WorkFile> pristine, std::vector<WorkFile> agents) {
  for (auto& file : pristine) file.mode = 0444;
  for (auto& file : handed_in(std::move(agents))) pristine.push_back(std::move(file));
  std::ranges::sort(pristine, {}, &WorkFile::path);
  return pristine;
}

std::string for_device_kind(std::string_view text, std::string_view device_kind) {
  std::string out;
  bool shown = true;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    if (line.starts_with("<!-- if ") && line.ends_with(" -->")) {
      shown = line.substr(8, line.size() - 12) == device_kind;
    } else if (line == "<!-- end -->") {
      shown = true;
    } else if (shown) {
      out += line;
      out += '\n';
    }
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace swage::sandbox
