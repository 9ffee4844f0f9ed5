#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sandbox/adapters/rooted_files.hpp"
#include "sandbox/core/work_path.hpp"

namespace swage::sandbox {

/// What a tool answers.
struct ToolAnswer {
  bool ok = false;
  std::string text;
};

/// Read, Write, Edit, MultiEdit, Glob and TodoWrite. Remembers what was read: a file that exists is
/// changed only if it was read before and its content is still the same. Runs as the agent.
/// Blocking; one thread. Arguments have passed the schema.
class FileTools {
 public:
  explicit FileTools(RootedFiles& files) : files_(files) {}

  ToolAnswer read(const nlohmann::json& arguments);
  ToolAnswer write(const nlohmann::json& arguments);
  ToolAnswer edit(const nlohmann::json& arguments);
  ToolAnswer multi_edit(const nlohmann::json& arguments);
  ToolAnswer glob(const nlohmann::json& arguments) const;
  ToolAnswer todo_write(const nlohmann::json& arguments);

 private:
  /// The content of an existing file that may be changed, or a sentence.
  Result<std::string, std::string> changeable(const RootedPath& path);
  ToolAnswer change(const std::string& file_path, const std::vector<struct TextEdit>& edits);

  RootedFiles& files_;
  std::map<std::string, std::string> seen_;  // absolute path → digest of the content shown last
  std::string todos_;
};

}  // namespace swage::sandbox
