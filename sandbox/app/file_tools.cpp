#include "sandbox/app/file_tools.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/base/digest.hpp"
#include "common/base/utf8.hpp"
#include "sandbox/core/file_text.hpp"
#include "sandbox/core/text.hpp"

namespace swage::sandbox {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxGlobbed = 100;

ToolAnswer refused(std::string why) { return {false, std::move(why)}; }

std::string digest_of(const std::string& content) { return sha256_hex(content); }

TextEdit edit_from(const json& value) {
  return {value.at("old_string").get<std::string>(), value.at("new_string").get<std::string>(),
          value.value("replace_all", false)};
}

}  // namespace

ToolAnswer FileTools::read(const json& arguments) {
  const auto path = resolve_path(arguments.at("file_path").get<std::string>(), files_.roots());
  if (!path) return refused(path.error());
  const auto content = files_.read(*path);
  if (!content) return refused(content.error());
  seen_[path->absolute] = digest_of(*content);
  if (path->absolute.ends_with(".ipynb")) {
    auto shown = show_notebook(*content);
    return shown ? ToolAnswer{true, cut_middle(to_valid_utf8(*shown))} : refused(shown.error());
  }
  if (is_binary(*content))
    return {true, "(The file is binary, " + std::to_string(content->size()) +
                      " bytes; look at it with Bash, for example xxd.)"};
  LineRange range;
  range.offset = arguments.value("offset", range.offset);
  range.limit = std::min(arguments.value("limit", range.limit), range.limit);
  return {true, show_lines(*content, range)};
}

Result<std::string, std::string> FileTools::changeable(const RootedPath& path) {
  auto content = files_.read(path);
  if (!content) return content;
  const auto seen = seen_.find(path.absolute);
  if (seen == seen_.end())
    return tl::unexpected(path.absolute + " exists and was not read yet; Read it first.");
  if (seen->second != digest_of(*content))
    return tl::unexpected(path.absolute + " has changed since it was read; Read it again.");
  return content;
}

ToolAnswer FileTools::write(const json& arguments) {
  const auto path = resolve_path(arguments.at("file_path").get<std::string>(), files_.roots());
  if (!path) return refused(path.error());
  const auto content = arguments.at("content").get<std::string>();
  const bool there = files_.exists(*path);
  if (there)
    if (const auto old = changeable(*path); !old) return refused(old.error());
  if (const auto done = files_.write(*path, content); !done) return refused(done.error());
  seen_[path->absolute] = digest_of(content);
  const auto lines =
      std::ranges::count(content, '\n') + (content.empty() || content.ends_with('\n') ? 0 : 1);
  return {true, std::string(there ? "Replaced " : "Wrote ") + path->absolute + " (" +
                    std::to_string(lines) + " lines)."};
}

ToolAnswer FileTools::change(const std::string& file_path, const std::vector<TextEdit>& edits) {
  const auto path = resolve_path(file_path, files_.roots());
  if (!path) return refused(path.error());
  const auto before = changeable(*path);
  if (!before) return refused(before.error());
  auto after = edits.size() == 1 ? apply_edit(*before, edits.front()) : apply_edits(*before, edits);
  if (!after) return refused(after.error());
  if (const auto done = files_.write(*path, *after); !done) return refused(done.error());
  seen_[path->absolute] = digest_of(*after);
  return {true, cut_middle("Changed " + path->absolute + ":\n" + show_change(*before, *after))};
}

ToolAnswer FileTools::edit(const json& arguments) {
  return change(arguments.at("file_path").get<std::string>(), {edit_from(arguments)});
}

ToolAnswer FileTools::multi_edit(const json& arguments) {
  std::vector<TextEdit> edits;
  for (const auto& one : arguments.at("edits")) edits.push_back(edit_from(one));
  return change(arguments.at("file_path").get<std::string>(), edits);
}

ToolAnswer FileTools::glob(const json& arguments) const {
  const auto directory = resolve_path(arguments.value("path", files_.roots().work), files_.roots());
  if (!directory) return refused(directory.error());
  auto found = files_.walk(*directory);
  if (!found) return refused(found.error());
  auto pattern = arguments.at("pattern").get<std::string>();
  if (pattern.starts_with(directory->absolute + "/"))
    pattern.erase(0, directory->absolute.size() + 1);
  std::erase_if(*found, [&](const FoundFile& file) {
    return !glob_matches(pattern,
                         std::string_view(file.path).substr(directory->absolute.size() + 1));
  });
  std::ranges::sort(*found, [](const FoundFile& a, const FoundFile& b) {
    return a.changed_ns != b.changed_ns ? a.changed_ns > b.changed_ns : a.path < b.path;
  });
  if (found->empty()) return {true, "(No file matches.)"};
  std::string out;
  for (std::size_t i = 0; i < std::min(found->size(), kMaxGlobbed); ++i)
    out += to_valid_utf8((*found)[i].path) + "\n";
  if (found->size() > kMaxGlobbed)
    out += "(" + std::to_string(found->size() - kMaxGlobbed) +
           " more files match; use a narrower pattern.)\n";
  return {true, cut_middle(out)};
}

ToolAnswer FileTools::todo_write(const json& arguments) {
  todos_.clear();
  for (const auto& todo : arguments.at("todos")) {
    const auto status = todo.at("status").get<std::string>();
    const char* box = status == "completed" ? "[x] " : status == "in_progress" ? "[>] " : "[ ] ";
    todos_ += box + todo.at("content").get<std::string>() + "\n";
  }
  return {true, todos_.empty() ? "(The list is empty.)" : cut_middle(todos_)};
}

}  // namespace swage::sandbox
