// clang-format off: ours first, it works around a missing include of Boost 1.74
#include "common/k8s/transport.hpp"
// clang-format on

#include <pplx/threadpool.h>

namespace swage::k8s {

void start_http_threads() {
  // cpprestsdk makes 40 by itself; the first call decides, later ones change nothing.
  static const bool started = [] {
    crossplat::threadpool::initialize_with_threads(8);
    return true;
  }();
  static_cast<void>(started);
}

}  // namespace swage::k8s
