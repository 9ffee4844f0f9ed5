#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/asio/event.hpp"
#include "common/asio/gate.hpp"
#include "common/http/server.hpp"
#include "common/k8s/elector.hpp"
#include "common/k8s/informer.hpp"
#include "common/rpc/server.hpp"
#include "controller/app/cluster_run.hpp"
#include "controller/app/event_feed.hpp"
#include "controller/app/http_api.hpp"
#include "controller/app/pool_keeper.hpp"

namespace swage::controller {

/// What main prepared.
struct OperatorSetup {
  ClusterSettings settings;
  ClusterSecrets secrets;
  k8s::Config cluster;
  std::string name;        ///< of this pod
  std::string name_space;  ///< of this pod: the Lease's too
  std::string address;     ///< host that others reach this process by
  std::filesystem::path share;
};

/// The operator: looks after TrainingRuns and ProfilingPools while it leads.
///  1. HTTP from the start: /metrics, /healthz, /readyz; the API is the leader's, a standby answers
///     307 with the leader's address.
///  2. Once it leads: gRPC for learners and rollout workers, one keeper for each object.
///  3. At `stop` the keepers let go, and the Lease is given up. A Lease that is lost ends the
///     process at once: somebody else may lead already.
/// Thread: everything on `strand`; the elector has its own. Life: run() must have returned before
/// it goes.
class Operator final : public RunIndex {
 public:
  Operator(asio::any_io_executor strand, StopSource& stop, Clock& clock, OperatorSetup setup);
  Task<int> run();
  std::string still_running() const;

  std::vector<RunApi*> runs() override;
  std::vector<nlohmann::json> pool_views() const override;

 private:
  /// An object as the server sent it.
  struct Whole {
    k8s::Json json;
    static Whole from(const k8s::Json& object) { return {object}; }
  };
  using Informers = std::vector<std::unique_ptr<k8s::Informer<Whole>>>;
  template <class Keeper>
  struct Kept {
    std::unique_ptr<Keeper> keeper;
    std::string uid;
  };

  bool start_http();
  Task<HttpResponse> answer(HttpHandler inner, HttpRequest request);
  /// Where the leader is.
  HttpResponse elsewhere(const HttpRequest& request) const;
  Task<int> lead();
  void watch();
  template <class Keeper>
  void changed(std::map<std::string, Kept<Keeper>>& kept, const Informers& informers,
               const Whole* object, const k8s::Meta& meta);
  template <class Keeper>
  Task<> keep(std::map<std::string, Kept<Keeper>>& kept, const Informers& informers,
              std::string key);
  template <class Keeper>
  void watch_kind(const std::vector<std::string>& spaces, const k8s::ResourceType& type,
                  Informers& informers, std::map<std::string, Kept<Keeper>>& kept);
  PoolKeeper* find_pool(const std::string& name_space, const std::string& name) const;

  asio::any_io_executor strand_;
  StopSource& stop_;
  Clock& clock_;
  OperatorSetup setup_;
  std::unique_ptr<k8s::Transport> transport_;
  k8s::Client client_;
  k8s::EventRecorder recorder_;
  Metrics metrics_;
  ControllerMetrics handles_;
  EventFeed events_;
  Event moved_;
  StopSource keep_stop_;  ///< of keepers, informers and the recorder
  Gate gate_;
  StopSource rpc_stop_;
  Gate rpc_gate_;
  DispatchService dispatch_;
  ControlService control_;
  HttpApi api_;
  std::unique_ptr<ClusterWorld> world_;
  std::uint64_t epoch_ = 0;  ///< above 0: this process leads
  std::string leader_;       ///< host of whoever leads
  std::map<std::string, Kept<PoolKeeper>> pools_;
  std::map<std::string, Kept<ClusterRun>> runs_;
  Informers pool_informers_, run_informers_;  ///< one for each namespace
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<RpcServer> rpc_;
  std::unique_ptr<k8s::Elector> elector_;
};

}  // namespace swage::controller
