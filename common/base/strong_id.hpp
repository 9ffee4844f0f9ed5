#pragma once

#include <compare>
#include <functional>
#include <ostream>
#include <string>
#include <utility>

namespace swage {

/// A string that cannot be mistaken for another kind of string. `Tag` is an empty struct.
template <class Tag>
class StrongId {
 public:
  StrongId() = default;
  explicit StrongId(std::string value) : value_(std::move(value)) {}
  const std::string& str() const { return value_; }
  bool empty() const { return value_.empty(); }
  auto operator<=>(const StrongId&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const StrongId& id) {
    return out << id.value_;
  }

 private:
  std::string value_;
};

}  // namespace swage

template <class Tag>
struct std::hash<swage::StrongId<Tag>> {
  std::size_t operator()(const swage::StrongId<Tag>& id) const noexcept {
    return std::hash<std::string>{}(id.str());
  }
};
