#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace swage::sandbox {

/// Which lines Read shows.
struct LineRange {
  std::size_t offset = 1;  ///< first line, from 1
  std::size_t limit = 2000;
};

/// Whether content looks like something other than text: a NUL byte in its first 8 KiB.
bool is_binary(std::string_view content);

/// `cat -n` form: number right-aligned in six places, a tab, the line, cut at 2,000 characters.
/// As many whole lines as an observation holds, and at least one.
/// Notices stand for an empty file, a range past the end, and what was left out. `path` is named in
/// them. Content is made valid UTF-8.
std::string show_lines(std::string_view content, const LineRange& range);

/// A Jupyter notebook, cell by cell with its outputs' text. Error: not a notebook.
Result<std::string, std::string> show_notebook(std::string_view content);

/// One replacement of Edit and MultiEdit.
struct TextEdit {
  std::string old_text, new_text;
  bool all = false;
};

/// The new content, or a sentence why the edit cannot be made.
Result<std::string, std::string> apply_edit(std::string_view content, const TextEdit& edit);
/// All in order, or none: the sentence names the edit that failed.
Result<std::string, std::string> apply_edits(std::string content,
                                             const std::vector<TextEdit>& edits);

/// The lines around the first place where `after` differs from `before`, numbered: what Edit shows.
std::string show_change(std::string_view before, std::string_view after);

/// Whether a relative path matches a pattern of `*` (within one part), `?`, `[…]`, `{a,b}` and `**`
/// (any number of parts). A pattern that cannot match in 100,000 steps does not match.
bool glob_matches(std::string_view pattern, std::string_view path);

}  // namespace swage::sandbox
