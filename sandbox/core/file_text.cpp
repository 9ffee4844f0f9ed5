#include "sandbox/core/file_text.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/base/utf8.hpp"
#include "sandbox/core/text.hpp"

namespace swage::sandbox {
namespace {

constexpr std::size_t kMaxLine = 2000;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string numbered(std::size_t number, std::string_view line) {
  char prefix[32];
  std::snprintf(prefix, sizeof prefix, "%6zu\t", number);
  const auto text = to_valid_utf8(line);
  const auto shown = first_characters(text, kMaxLine);
  std::string out = prefix;
  out += shown;
  if (shown.size() < text.size()) out += "... [line cut]";
  out += '\n';
  return out;
}

std::string joined(const nlohmann::json& text) {
  if (text.is_string()) return text.get<std::string>();
  std::string out;
  if (text.is_array())
    for (const auto& part : text)
      if (part.is_string()) out += part.get_ref<const std::string&>();
  return out;
}

std::size_t count_of(std::string_view text, std::string_view piece) {
  std::size_t count = 0;
  for (auto at = text.find(piece); at != std::string_view::npos;
       at = text.find(piece, at + piece.size()))
    ++count;
  return count;
}

std::string cell_text(const nlohmann::json& cell, std::size_t index) {
  std::string out = "<cell " + std::to_string(index) + " " + cell.value("cell_type", "?") + ">\n";
  out += joined(cell.value("source", nlohmann::json())) + "\n";
  for (const auto& output : cell.value("outputs", nlohmann::json::array())) {
    if (!output.is_object()) continue;
    auto text = joined(output.value("text", nlohmann::json()));
    const auto data = output.value("data", nlohmann::json::object());
    if (data.is_object()) text += joined(data.value("text/plain", nlohmann::json()));
    if (!text.empty()) out += "<output>\n" + text + "\n";
  }
  return out;
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto slash = path.find('/');
    if (slash != 0) parts.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

/// Each alternative of the first `{a,b}`, expanded on.
void expand_braces(const std::string& pattern, std::vector<std::string>& out) {
  const auto open = pattern.find('{');
  const auto close = open == std::string::npos ? open : pattern.find('}', open);
  if (close == std::string::npos || out.size() > 64) {
    out.push_back(pattern);
    return;
  }
  std::string_view inside = std::string_view(pattern).substr(open + 1, close - open - 1);
  while (true) {
    const auto comma = inside.find(',');
    expand_braces(
        pattern.substr(0, open) + std::string(inside.substr(0, comma)) + pattern.substr(close + 1),
        out);
    if (comma == std::string_view::npos) return;
    inside.remove_prefix(comma + 1);
  }
}

/// Whether pattern parts from p on match path parts from s on; `steps` bounds the search.
bool parts_match(const std::vector<std::string_view>& pattern, std::size_t p,
                 const std::vector<std::string_view>& path, std::size_t s, int& steps) {
  if (--steps < 0) return false;
  if (p == pattern.size()) return s == path.size();
  if (pattern[p] == "**") {
    for (std::size_t skip = s; skip <= path.size(); ++skip)
      if (parts_match(pattern, p + 1, path, skip, steps)) return true;
    return false;
  }
  if (s == path.size()) return false;
  if (::fnmatch(std::string(pattern[p]).c_str(), std::string(path[s]).c_str(), 0) != 0)
    return false;
  return parts_match(pattern, p + 1, path, s + 1, steps);
}

}  // namespace

bool is_binary(std::string_view content) {
  return content.substr(0, 8192).find('\0') != std::string_view::npos;
}

std::string show_lines(std::string_view content, const LineRange& range) {
  if (content.empty()) return "(The file exists and is empty.)";
  const auto lines = lines_of(content);
  if (range.offset > lines.size())
    return "(The file has only " + std::to_string(lines.size()) + " lines; use a smaller offset.)";
  const auto first = range.offset - 1;
  const auto last = first + std::min(range.limit, lines.size() - first);
  std::string out;
  std::size_t characters = 0, at = first;
  for (; at < last; ++at) {
    const auto line = numbered(at + 1, lines[at]);
    characters += count_characters(line);
    if (at > first && characters > kMaxObservation) break;
    out += line;
  }
  if (const auto rest = lines.size() - at; rest > 0)
    out += "(" + std::to_string(rest) + " more lines; Read again with offset " +
           std::to_string(at + 1) + ".)\n";
  return out;
}

Result<std::string, std::string> show_notebook(std::string_view content) {
  const auto notebook = nlohmann::json::parse(content, nullptr, false);
  if (!notebook.is_object() || !notebook.contains("cells") || !notebook.at("cells").is_array())
    return tl::unexpected(std::string("The file is not a valid notebook; look at it with Bash."));
  std::string out;
  std::size_t index = 0;
  for (const auto& cell : notebook.at("cells"))
    if (cell.is_object()) out += cell_text(cell, index++);
  return out.empty() ? "(The notebook has no cells.)" : out;
}

Result<std::string, std::string> apply_edit(std::string_view content, const TextEdit& edit) {
  using Refused = tl::unexpected<std::string>;
  if (edit.old_text == edit.new_text)
    return Refused("old_string and new_string are the same; change new_string.");
  const auto count = edit.old_text.empty() ? 0 : count_of(content, edit.old_text);
  if (count == 0)
    return Refused("old_string is not in the file; Read it and copy the text exactly.");
  if (count > 1 && !edit.all)
    return Refused("old_string occurs " + std::to_string(count) +
                   " times; add lines around it to make it unique, or set replace_all.");
  std::string out;
  std::size_t from = 0;
  for (auto at = content.find(edit.old_text); at != std::string_view::npos;
       at = content.find(edit.old_text, from)) {
    out += content.substr(from, at - from);
    out += edit.new_text;
    from = at + edit.old_text.size();
  }
  out += content.substr(from);
  return out;
}

Result<std::string, std::string> apply_edits(std::string content,
                                             const std::vector<TextEdit>& edits) {
  for (std::size_t i = 0; i < edits.size(); ++i) {
    auto next = apply_edit(content, edits[i]);
    if (!next)
      return tl::unexpected("Edit " + std::to_string(i + 1) + " of " +
                            std::to_string(edits.size()) +
                            " failed and none was made: " + next.error());
    content = std::move(*next);
  }
  return content;
}

std::string show_change(std::string_view before, std::string_view after) {
  const auto old_lines = lines_of(before);
  const auto new_lines = lines_of(after);
  std::size_t first = 0;
  while (first < old_lines.size() && first < new_lines.size() &&
         old_lines[first] == new_lines[first])
    ++first;
  std::size_t same_end = 0;
  while (same_end < old_lines.size() - first && same_end < new_lines.size() - first &&
         old_lines[old_lines.size() - 1 - same_end] == new_lines[new_lines.size() - 1 - same_end])
    ++same_end;
  const auto from = first > 3 ? first - 3 : 0;
  const auto to = std::min({new_lines.size(), new_lines.size() - same_end + 3, from + 40});
  std::string out;
  for (std::size_t i = from; i < to; ++i) out += numbered(i + 1, new_lines[i]);
  return out;
}

bool glob_matches(std::string_view pattern, std::string_view path) {
  std::vector<std::string> alternatives;
  expand_braces(std::string(pattern), alternatives);
  const auto path_parts = parts_of(path);
  int steps = 100'000;
  return std::ranges::any_of(alternatives, [&](const std::string& one) {
    return parts_match(parts_of(one), 0, path_parts, 0, steps);
  });
}

}  // namespace swage::sandbox
