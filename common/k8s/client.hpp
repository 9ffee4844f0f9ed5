#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/asio/clock.hpp"
#include "common/k8s/object.hpp"
#include "common/k8s/token_bucket.hpp"
#include "common/k8s/transport.hpp"

namespace swage::k8s {

/// A number in [0, 1).
using Random = std::function<double()>;
Random make_random();

/// Which object.
struct Target {
  ResourceType type;
  std::string name_space;  ///< empty for cluster-wide types
  std::string name = {};
};

struct ListPage {
  std::vector<Json> items;  ///< without apiVersion and kind, as servers send them
  std::string resource_version;
  std::string continue_token;  ///< empty: the last page
};

struct ListOptions {
  Selector selector = {};
  std::string resource_version = {};  ///< nothing older than this; "0": any; "": the newest
  std::string continue_token = {};
  int limit = 500;
};

struct RemoveOptions {
  std::string uid = {};           ///< only the object with this uid
  std::optional<int> grace = {};  ///< seconds; nothing: the object's own
  std::string propagation = {};   ///< Background, Foreground, Orphan; empty: the server's choice
};

struct ClientLimits {
  double per_second = 50;  ///< requests; 0: no limit
  double burst = 100;
};

/// What the API server can be asked, over JSON. Requests go through a rate limit; what is throttled
/// (429: not executed) is sent again after the wait that the server asks for, while time is left.
/// Nothing else is repeated here. Idempotent: get, list, apply, remove with a uid, and a patch or
/// replace that names a resourceVersion; after `transport` a create may have been executed.
/// Thread: one strand, the transport's. Life: outlives its calls.
class Client {
 public:
  Client(Transport& transport, Clock& clock, ClientLimits limits = {},
         Random random = make_random());

  using Answer = Task<Result<Json, Error>>;
  Answer get(Target target, TimePoint deadline, StopSource& stop);
  Task<Result<ListPage, Error>> list(Target target, ListOptions options, TimePoint deadline,
                                     StopSource& stop);
  /// The name stands in `object`. conflict: it exists.
  Answer create(Target target, Json object, TimePoint deadline, StopSource& stop);
  Answer replace(Target target, Json object, TimePoint deadline, StopSource& stop);
  /// A merge patch (RFC 7396). subresource: `status`, `scale` or empty. With
  /// metadata.resourceVersion in it: conflict when the object has another.
  Answer merge_patch(Target target, std::string subresource, Json patch, TimePoint deadline,
                     StopSource& stop);
  /// Server-side apply, never forced: conflict names in `managers` who owns a field.
  Answer apply(Target target, std::string subresource, Json object, std::string field_manager,
               TimePoint deadline, StopSource& stop);
  Answer patch_status(Target target, Json status, TimePoint deadline, StopSource& stop) {
    return merge_patch(std::move(target), "status", Json{{"status", std::move(status)}}, deadline,
                       stop);
  }
  Answer patch_scale(Target target, int replicas, TimePoint deadline, StopSource& stop) {
    return merge_patch(std::move(target), "scale", Json{{"spec", {{"replicas", replicas}}}},
                       deadline, stop);
  }
  /// An object that is not there, or is another one by its uid, counts as removed.
  Task<Result<bool, Error>> remove(Target target, RemoveOptions options, TimePoint deadline,
                                   StopSource& stop);

  /// Any other request.
  Task<Result<std::string, Error>> send(Request request, TimePoint deadline, StopSource& stop);

  Transport& transport() { return transport_; }
  Clock& clock() { return clock_; }
  double random() { return random_(); }

 private:
  Answer ask(Request request, TimePoint deadline, StopSource& stop);

  Transport& transport_;
  Clock& clock_;
  TokenBucket bucket_;
  Random random_;
};

}  // namespace swage::k8s
