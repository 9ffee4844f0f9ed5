#pragma once

#include <cstdint>
#include <vector>

namespace swage::policy {

/// Which pages of the key-value cache are free. Pure bookkeeping.
class PagePool {
 public:
  explicit PagePool(std::int64_t pages) {
    for (auto page = pages; page > 0; --page) free_.push_back(static_cast<std::int32_t>(page - 1));
    total_ = free_.size();
  }
  std::size_t free() const { return free_.size(); }
  std::size_t total() const { return total_; }

  /// Extends `pages` to `wanted`; false, and nothing happens, when too few are free.
  bool grow(std::vector<std::int32_t>& pages, std::size_t wanted) {
    if (pages.size() >= wanted) return true;
    if (wanted - pages.size() > free_.size()) return false;
    while (pages.size() < wanted) {
      pages.push_back(free_.back());
      free_.pop_back();
    }
    return true;
  }
  void give_back(std::vector<std::int32_t>& pages) {
    free_.insert(free_.end(), pages.rbegin(), pages.rend());
    pages.clear();
  }

 private:
  std::vector<std::int32_t> free_;
  std::size_t total_ = 0;
};

}  // namespace swage::policy
