#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/config/fields.hpp"

namespace swage {

/// One YAML document as JSON (core schema: plain scalars become numbers, booleans and null).
struct YamlDocument {
  nlohmann::json value;
  std::map<std::string, int> lines;  ///< `spec.tasks[0].set` → line in the file, from 1
  int line = 1;                      ///< where the document starts

  /// The line of a field, or of its nearest parent that has one.
  int line_of(const std::string& path) const;
};

/// All documents of a file; empty ones are left out. `file` stands in complaints.
/// Errors: not YAML, a key twice, more than 10,000 nodes, a key that is not a plain word.
Result<std::vector<YamlDocument>, ConfigError> parse_yaml(std::string_view text,
                                                          const std::string& file);

}  // namespace swage
