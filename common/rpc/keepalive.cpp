#include "common/rpc/keepalive.hpp"

#include <grpc/impl/codegen/grpc_types.h>

#include <limits>

namespace swage {

std::vector<std::pair<std::string, int>> arguments_of(const Keepalive& keepalive) {
  if (keepalive.every.count() <= 0)
    return {{GRPC_ARG_KEEPALIVE_TIME_MS, std::numeric_limits<int>::max()}};
  const auto every = static_cast<int>(keepalive.every.count());
  return {
      {GRPC_ARG_KEEPALIVE_TIME_MS, every},
      {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(keepalive.within.count())},
      // A connection without a call is tried too: the next call shall not find out.
      {GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1},
      {GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0},  // 0: any number; the default is 2
      // Half, because two pings may arrive closer together than they were sent.
      {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, every / 2},
  };
}

}  // namespace swage
