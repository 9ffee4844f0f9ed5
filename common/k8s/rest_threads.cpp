// clang-format off: ours first, it works around a missing include of Boost 1.74
#include "common/k8s/transport.hpp"
// clang-format on

#include <openssl/ssl.h>
#include <pplx/threadpool.h>

namespace swage::k8s {

void start_http_threads() {
  // cpprestsdk makes 40 by itself; the first call decides, later ones change nothing.
  static const bool kStarted = [] {
    // Before the threads: what begins first ends last at exit(), and they use OpenSSL to their end.
    OPENSSL_init_ssl(0, nullptr);
    crossplat::threadpool::initialize_with_threads(8);
    return true;
  }();
  static_cast<void>(kStarted);
}

}  // namespace swage::k8s
