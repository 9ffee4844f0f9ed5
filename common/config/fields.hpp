#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "common/base/result.hpp"

namespace swage {

/// Every complaint about a file, each naming file, line (if known) and field, with the remedy.
struct ConfigError {
  std::vector<std::string> complaints;
  std::string text() const;  ///< one a line
};

/// Reads one closed JSON object: takes fields by name, collects complaints, and at finish() also
/// complains about every field that nobody took.
class Fields {
 public:
  using Complain = std::function<void(const std::string& path, const std::string& what)>;

  /// path: of this object, e.g. `spec.rollouts`; empty at the root. `object` outlives this.
  Fields(const nlohmann::json& object, std::string path, Complain complain);

  bool has(const std::string& name) const;
  std::string path_of(const std::string& name) const;

  /// The field, or the default when absent. Ill-typed or out of range: complains, returns default.
  std::string text(const std::string& name, std::string fallback);
  std::int64_t integer(const std::string& name, std::int64_t fallback, std::int64_t low,
                       std::int64_t high);
  double number(const std::string& name, double fallback, double low, double high);
  bool boolean(const std::string& name, bool fallback);
  std::string one_of(const std::string& name, const std::vector<std::string>& allowed,
                     const std::string& fallback);
  /// A nested object; an empty one when absent. Call finish() on it too.
  Fields object(const std::string& name);
  /// The raw value when present and not null, marked as taken.
  const nlohmann::json* raw(const std::string& name);

  /// Complains unless the field is there.
  void require(const std::string& name, const std::string& what_it_is);
  void complain(const std::string& name, const std::string& what) const;
  /// Unknown fields are complaints, with the nearest known name.
  void finish();

 private:
  const nlohmann::json* take(const std::string& name);

  const nlohmann::json& object_;
  std::string path_;
  Complain complain_;
  std::set<std::string> known_;
};

}  // namespace swage
