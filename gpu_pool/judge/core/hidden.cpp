#include "gpu_pool/judge/core/hidden.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/base/check.hpp"
#include "common/base/philox.hpp"
#include "gpu_pool/judge/core/recipe.hpp"

namespace swage::judge {
namespace {

constexpr std::array<std::string_view, kHiddenCount> kNames{
    "shifted", "large",   "small",       "lognormal",  "sparse",           "constant_rows",
    "sorted",  "one_hot", "alternating", "rows_at_80", "clustered_maxima", "denormals"};
constexpr std::uint64_t kRowSalt = 0xA24BAED4963EE407ULL;  // per-row draws, apart from elements'
constexpr std::uint64_t kFlagSalt = 0x9FB21C651E98DF25ULL;
constexpr std::uint64_t kMostCluster = 8;

using Block = std::array<float, kFillBlock>;

std::span<std::byte> bytes_of(Block& block) { return std::as_writable_bytes(std::span(block)); }

/// Draws of one block of elements; `at` is a multiple of kFillBlock.
void draw(const Recipe& recipe, std::uint64_t key, std::uint64_t at, Block& out) {
  // fill() places by position: a key of its own for each block stands for the position.
  fill(recipe, ElementType::float32, key + at, bytes_of(out), 0, kFillBlock);
}

double unit_of_row(std::uint64_t key, std::uint64_t row) {
  return philox_uniform(key ^ kRowSalt, 0, row);
}

/// A normal by row: the sum of uniforms is close enough for a value that nobody may rely on.
double normal_of_row(std::uint64_t key, std::uint64_t row) {
  double sum = 0;
  for (std::uint64_t i = 0; i < 4; ++i) sum += philox_uniform(key ^ kRowSalt, i + 1, row);
  return (sum - 2) * std::sqrt(3.0);
}

/// What an element's value may depend on.
struct Element {
  double z;      ///< standard normal
  double u;      ///< uniform in [0, 1)
  double part;   ///< position over the tensor, [0, 1)
  double row_u;  ///< the same for a whole row
  double row_z;  ///< the same for a whole row
  std::uint64_t column;
  std::uint64_t columns;
};

std::uint64_t column_at(double unit, std::uint64_t columns) {
  return static_cast<std::uint64_t>(unit * static_cast<double>(columns));
}

double value_of(Hidden which, const Element& e) {
  switch (which) {
    case Hidden::shifted:
      return 100 + e.z;
    case Hidden::large:
      return 1e3 * e.z;
    case Hidden::small:
      return 1e-3 * e.z;
    case Hidden::lognormal:
      return std::exp(e.z);
    case Hidden::sparse:
      return e.u < 0.9 ? 0 : e.z;
    case Hidden::constant_rows:
      return e.row_z;
    case Hidden::sorted:
      return 6 * e.part - 3;
    case Hidden::one_hot:
      return column_at(e.row_u, e.columns) == e.column ? 1 : 0;
    case Hidden::alternating:
      return (e.column % 2 == 0 ? 1 : -1) * (1 + 0.1 * e.u);
    case Hidden::rows_at_80:
      return e.z + (e.row_u < 0.5 ? 80 : -80);
    case Hidden::clustered_maxima: {
      const std::uint64_t width = std::min(e.columns, kMostCluster);
      const std::uint64_t first = column_at(e.row_u, e.columns - width + 1);
      return e.column >= first && e.column < first + width ? 10 + 0.01 * e.z : e.z;
    }
    case Hidden::denormals:
      return 1e-40 * e.z;
  }
  return 0;
}

int family_of(Hidden which) {
  switch (which) {
    case Hidden::large:
    case Hidden::constant_rows:
    case Hidden::alternating:
    case Hidden::rows_at_80:
      return 0;
    case Hidden::sparse:
    case Hidden::sorted:
    case Hidden::one_hot:
    case Hidden::clustered_maxima:
      return 1;
    case Hidden::shifted:
    case Hidden::small:
    case Hidden::lognormal:
    case Hidden::denormals:
      return 2;
  }
  return 0;
}

}  // namespace

std::string_view name_of(Hidden which) { return kNames.at(static_cast<std::size_t>(which)); }

std::optional<Hidden> hidden_of(std::string_view name) {
  const auto at = std::ranges::find(kNames, name);
  if (at == kNames.end()) return std::nullopt;
  return static_cast<Hidden>(at - kNames.begin());
}

void fill_hidden(Hidden which, ElementType type, std::uint64_t row, std::uint64_t key,
                 std::span<std::byte> buffer, std::uint64_t begin, std::uint64_t end) {
  check(begin % kFillBlock == 0 && row > 0 && is_floating(type), "a block of a floating tensor");
  const std::size_t size = size_of(type);
  const std::uint64_t elements = buffer.size() / size;
  const bool calm = family_of(which) == 0 && elements >= 4 * kCalmElements;
  const auto total = static_cast<double>(elements);
  Block normals;
  Block units;
  for (std::uint64_t at = begin; at < end; at += kFillBlock) {
    draw({Law::normal, 0, 1}, key, at, normals);
    draw({Law::uniform, 0, 1}, key ^ kFlagSalt, at, units);
    const std::uint64_t last = std::min(kFillBlock, end - at) + at;
    Element element{};
    element.columns = row;
    element.column = row;  // as if a row had just ended
    for (std::uint64_t place = at; place < last; ++place, ++element.column) {
      if (element.column == row) {
        element.column = place % row;
        element.row_u = unit_of_row(key, place / row);
        element.row_z = normal_of_row(key, place / row);
      }
      element.z = static_cast<double>(normals[place - at]);
      element.u = static_cast<double>(units[place - at]);
      element.part = static_cast<double>(place) / total;
      if (calm && place < kCalmElements) continue;
      store_element(type, value_of(which, element), buffer.data() + place * size);
    }
  }
}

std::vector<Hidden> draw_hidden(const std::vector<Hidden>& valid, std::size_t count,
                                std::uint64_t key) {
  std::vector<Hidden> order = valid;
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1],
              order[static_cast<std::size_t>(philox_uniform(key, 0, i) * static_cast<double>(i))]);
  std::vector<Hidden> out;
  for (int family = 0; family < 3 && out.size() < count; ++family) {
    const auto at = std::ranges::find(order, family, family_of);
    if (at == order.end()) continue;
    out.push_back(*at);
    order.erase(at);
  }
  for (const Hidden which : order)
    if (out.size() < count) out.push_back(which);
  return out;
}

}  // namespace swage::judge
