#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace swage::judge {

/// Memory of the processor that a GPU reads and writes at full speed. Making it is slow, so what is
/// given back is given out again. Life: longer than what it gave out.
class PinnedPool {
 public:
  PinnedPool() = default;
  ~PinnedPool();
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  /// A piece of at least `bytes`, whose content is undefined.
  std::shared_ptr<std::byte> take(std::size_t bytes);

 private:
  struct Piece {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
  };
  std::vector<Piece> free_;
};

}  // namespace swage::judge
