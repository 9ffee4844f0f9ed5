#include "common/base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace swage {

void check(bool condition, std::string_view why, std::source_location where) {
  if (condition) return;
  std::fprintf(stderr, "%s:%u: check failed: %.*s\n", where.file_name(), where.line(),
               static_cast<int>(why.size()), why.data());
  std::abort();
}

}  // namespace swage
