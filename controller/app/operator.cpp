#include "controller/app/operator.hpp"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "common/base/digest.hpp"
#include "common/base/exit_code.hpp"
#include "common/http/health.hpp"
#include "common/log/log.hpp"
#include "controller/app/program.hpp"

namespace swage::controller {
namespace {

using namespace std::chrono_literals;
using k8s::Json;

}  // namespace

Operator::Operator(asio::any_io_executor strand, StopSource& stop, Clock& clock,
                   OperatorSetup setup)
    : strand_(strand),
      stop_(stop),
      clock_(clock),
      setup_(std::move(setup)),
      transport_(k8s::make_rest_transport(setup_.cluster, clock)),
      client_(*transport_, clock),
      recorder_(strand, client_, "swage.dev/controller", setup_.name),
      handles_(metrics_, "all"),
      events_(strand, static_cast<std::uint64_t>(unix_ms()) * 1000),
      moved_(strand),
      gate_(strand, keep_stop_),
      rpc_gate_(strand, rpc_stop_),
      dispatch_({strand, rpc_gate_, setup_.secrets.token}),
      control_({strand, rpc_gate_, setup_.secrets.token}),
      api_(*this, events_, clock, rpc_stop_) {}

Task<int> Operator::run() {
  if (!start_http()) co_return 1;
  const auto hook = stop_.on_stop([this] { moved_.notify(); });
  k8s::ElectorOptions options{setup_.cluster,     setup_.name_space,
                              "swage-controller", setup_.name + "-" + to_hex(random_bytes(4)),
                              setup_.address,     {}};
  k8s::ElectorEvents told;
  told.leading = [this](std::uint64_t epoch) {
    asio::post(strand_, [this, epoch] {
      epoch_ = epoch;
      moved_.notify();
    });
  };
  told.leader_changed = [this](const k8s::LeaseRecord& leader) {
    asio::post(strand_, [this, address = leader.address] { leader_ = address; });
  };
  told.lost = [](const std::string& why) {
    // Somebody else may lead already: no write of ours may follow.
    std::fprintf(stderr, "swage-controller: the Lease is lost: %s\n", why.c_str());
    ::_exit(1);
  };
  elector_ = std::make_unique<k8s::Elector>(std::move(options), std::move(told));
  log_info("takes part in the election", {{"lease", setup_.name_space + "/swage-controller"}});
  while (!stop_.stopping() && epoch_ == 0) co_await moved_.wait(stop_);
  int code = 0;
  if (!stop_.stopping()) code = co_await lead();
  elector_->stop();
  // What it posted before comes before this.
  co_await asio::post(strand_, asio::use_awaitable);
  rpc_stop_.request(StopReason::requested);
  if (rpc_) co_await rpc_->shut_down(0s);
  co_await rpc_gate_.join();
  co_await http_->stop();
  co_return code;
}

bool Operator::start_http() {
  HttpRouter api;
  api_.add_routes(api);
  HttpRouter router;
  add_health_routes(router, metrics_, [] { return std::string(); });
  // A standby shows the way.
  for (const auto& route : api.routes()) {
    if (const auto* stream = std::get_if<EventHandler>(&route.handler)) {
      router.events(
          route.path, *stream,
          [this, refuse = route.refuse](const HttpRequest& request) -> std::optional<HttpResponse> {
            if (epoch_ == 0) return elsewhere(request);
            return refuse ? refuse(request) : std::nullopt;
          });
      continue;
    }
    const HttpHandler inner = std::get<HttpHandler>(route.handler);
    const HttpHandler outer = [this, inner](HttpRequest request) {
      return answer(inner, std::move(request));
    };
    if (route.method == "GET")
      router.get(route.path, outer);
    else
      router.post(route.path, outer);
  }
  auto http = HttpServer::start(strand_, setup_.settings.http, router, setup_.secrets.token);
  if (!http) {
    log_error("cannot serve HTTP", {{"why", http.error().message}});
    return false;
  }
  http_ = std::move(*http);
  return true;
}

Task<HttpResponse> Operator::answer(HttpHandler inner, HttpRequest request) {
  if (epoch_ == 0) co_return elsewhere(request);
  co_return co_await inner(std::move(request));
}

HttpResponse Operator::elsewhere(const HttpRequest& request) const {
  if (leader_.empty())
    return HttpResponse::problem(503, "No leader", "nobody leads yet; try again in a moment");
  HttpResponse out;
  out.status = 307;
  const auto port = setup_.settings.http.substr(setup_.settings.http.rfind(':'));
  const std::vector<std::pair<std::string, std::string>> query(request.query.begin(),
                                                               request.query.end());
  out.headers.emplace_back("location",
                           "http://" + leader_ + port + request.path + k8s::query_of(query));
  return out;
}

/// Until `stop`.
Task<int> Operator::lead() {
  log_info("leads", {{"epoch", epoch_}});
  world_ = std::make_unique<ClusterWorld>(ClusterWorld{
      strand_, clock_, client_, recorder_, setup_.settings, setup_.secrets, setup_.share, dispatch_,
      control_, handles_, epoch_,
      [this](const std::string& space, const std::string& name) { return find_pool(space, name); },
      [this](const std::string& type, const Json& data) { events_.say(type, data); }});
  auto rpc = RpcServer::start(setup_.settings.listen, {&dispatch_, &control_});
  if (!rpc) {
    log_error("cannot serve gRPC", {{"why", rpc.error().message}});
    co_return 1;
  }
  rpc_ = std::move(*rpc);
  std::ignore = gate_.spawn("events", recorder_.run(keep_stop_));
  watch();
  while (!stop_.stopping() && !keep_stop_.stopping()) co_await moved_.wait(stop_);
  const bool fault = !stop_.stopping();
  log_info("stops leading");
  keep_stop_.request(StopReason::requested);
  co_await gate_.join();
  co_return fault ? exit_code::kBug : 0;
}

/// Pools first: runs look for theirs.
void Operator::watch() {
  watch_kind(setup_.settings.pool_namespaces, kProfilingPools, pool_informers_, pools_);
  watch_kind(setup_.settings.watch_namespaces, kTrainingRuns, run_informers_, runs_);
}

template <class Keeper>
void Operator::watch_kind(const std::vector<std::string>& spaces, const k8s::ResourceType& type,
                          Informers& informers, std::map<std::string, Kept<Keeper>>& kept) {
  using Entry = k8s::Informer<Whole>::Entry;
  for (const auto& space : spaces) {
    informers.push_back(std::make_unique<k8s::Informer<Whole>>(
        strand_, client_, k8s::Target{type, space}, k8s::Selector{},
        [this, &informers, &kept](const Entry* before, const Entry* after) {
          changed(kept, informers, after == nullptr ? nullptr : &after->value,
                  (after == nullptr ? before : after)->meta);
        }));
    std::ignore = gate_.spawn(type.plural + " of " + space, informers.back()->run(keep_stop_));
  }
}

/// One keeper for each object; an object of the same name that came later waits for the end of the
/// first one's keeper.
template <class Keeper>
void Operator::changed(std::map<std::string, Kept<Keeper>>& kept, const Informers& informers,
                       const Whole* object, const k8s::Meta& meta) {
  const auto found = kept.find(meta.key());
  if (found != kept.end()) {
    const bool same = found->second.uid == meta.uid;
    found->second.keeper->changed(same && object != nullptr ? &object->json : nullptr);
    return;
  }
  if (object == nullptr || keep_stop_.stopping()) return;
  kept[meta.key()] = {std::make_unique<Keeper>(*world_, object->json), meta.uid};
  std::ignore = gate_.spawn("keeper of " + meta.key(), keep(kept, informers, meta.key()));
}

template <class Keeper>
Task<> Operator::keep(std::map<std::string, Kept<Keeper>>& kept, const Informers& informers,
                      std::string key) {
  co_await kept.at(key).keeper->run(keep_stop_);
  kept.erase(key);
  for (const auto& informer : informers) {  // has it been made again meanwhile?
    const auto again = informer->objects().find(key);
    if (again != informer->objects().end())
      changed(kept, informers, &again->second.value, again->second.meta);
  }
}

PoolKeeper* Operator::find_pool(const std::string& name_space, const std::string& name) const {
  const auto found = pools_.find(name_space + "/" + name);
  return found == pools_.end() ? nullptr : found->second.keeper.get();
}

std::vector<RunApi*> Operator::runs() {
  std::vector<RunApi*> out;
  for (const auto& [key, kept] : runs_) out.push_back(kept.keeper.get());
  return out;
}

std::vector<nlohmann::json> Operator::pool_views() const {
  std::vector<nlohmann::json> out;
  for (const auto& [key, kept] : pools_) out.push_back(kept.keeper->view());
  return out;
}

std::string Operator::still_running() const { return still_running_in({&gate_, &rpc_gate_}); }

}  // namespace swage::controller
