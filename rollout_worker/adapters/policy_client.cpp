#include "rollout_worker/adapters/policy_client.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "common/base/digest.hpp"
#include "common/log/log.hpp"
#include "common/rpc/channel.hpp"
#include "common/rpc/client.hpp"
#include "rollout_worker/adapters/backoff.hpp"
#include "rollout_worker/adapters/convert.hpp"
#include "swage/v1/policy.grpc.pb.h"

namespace swage::rollout_worker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// One server as sessions see it.
struct Server {
  explicit Server(std::string at)
      : address(std::move(at)), stub(v1::Policy::NewStub(make_channel(address))) {}
  const std::string address;
  const std::unique_ptr<v1::Policy::Stub> stub;
  std::uint64_t weight_version = 0;
  std::size_t sessions = 0;
};

class RemoteServers;

/// What one try at a message came to.
enum class Attempt { done, miss, later, elsewhere, refused, stopped };

class RemoteSession final : public PolicySession {
 public:
  RemoteSession(RemoteServers& servers, const Assignment& assignment)
      : servers_(servers),
        name_(assignment.key.text()),
        sampling_(to_wire(assignment.sampling)),
        min_version_(assignment.min_weight_version) {}
  ~RemoteSession() override { leave(); }

  Task<Result<PolicyMessage, PolicyErrc>> generate(std::vector<std::uint32_t> append,
                                                   std::uint32_t max_tokens, TimePoint deadline,
                                                   StopSource& stop) override;
  PolicyIdentity identity() const override { return identity_; }
  Task<> close() override;

 private:
  Task<Attempt> introduce(TimePoint deadline, StopSource& stop);
  Task<Attempt> attempt(std::uint32_t max_tokens, TimePoint deadline, StopSource& stop);
  Task<Attempt> read_message(ReadCall<v1::GenerateResponse>& call);
  Attempt judge(const grpc::Status& status);
  void leave();

  RemoteServers& servers_;
  const std::string name_;
  const v1::Sampling sampling_;
  std::uint64_t min_version_;
  std::shared_ptr<Server> server_;
  bool introduced_ = false;  ///< to server_
  PolicyIdentity identity_;
  std::vector<std::uint32_t> prefix_;  ///< all tokens so far, sampled ones included
  std::uint32_t held_ = 0;             ///< of them, what server_ holds
  PolicyMessage message_;              ///< of the attempt in hand
};

class RemoteServers final : public PolicyServers {
 public:
  RemoteServers(Clock& clock, PolicyClientSettings settings)
      : clock_(clock), settings_(std::move(settings)) {}

  std::unique_ptr<PolicySession> open(const Assignment& assignment) override {
    return std::make_unique<RemoteSession>(*this, assignment);
  }

  void update(std::vector<PolicyEndpoint> endpoints) override {
    std::map<std::string, std::shared_ptr<Server>> next;
    for (const auto& endpoint : endpoints) {
      auto known = servers_.find(endpoint.address);
      auto server =
          known != servers_.end() ? known->second : std::make_shared<Server>(endpoint.address);
      server->weight_version = std::max(server->weight_version, endpoint.weight_version);
      next.emplace(endpoint.address, std::move(server));
    }
    servers_ = std::move(next);
  }

  /// The least loaded of those with the newest weights, `not_this` only if there is no other.
  std::shared_ptr<Server> pick(const std::shared_ptr<Server>& not_this) const {
    std::shared_ptr<Server> best;
    const auto better = [&](const Server& a, const Server& b) {
      if ((&a == not_this.get()) != (&b == not_this.get())) return &b == not_this.get();
      if (a.weight_version != b.weight_version) return a.weight_version > b.weight_version;
      return a.sessions < b.sessions;
    };
    for (const auto& [address, server] : servers_)
      if (!best || better(*server, *best)) best = server;
    return best;
  }

  Clock& clock() { return clock_; }
  const PolicyClientSettings& settings() const { return settings_; }

 private:
  Clock& clock_;
  const PolicyClientSettings settings_;
  std::map<std::string, std::shared_ptr<Server>> servers_;
};

void RemoteSession::leave() {
  if (server_) --server_->sessions;
  server_.reset();
  introduced_ = false;
  held_ = 0;
}

Task<Result<PolicyMessage, PolicyErrc>> RemoteSession::generate(std::vector<std::uint32_t> append,
                                                                std::uint32_t max_tokens,
                                                                TimePoint deadline,
                                                                StopSource& stop) {
  prefix_.insert(prefix_.end(), append.begin(), append.end());
  auto& clock = servers_.clock();
  Backoff backoff(milliseconds(50), seconds(2));
  bool failing = false;
  std::shared_ptr<Server> failed;
  while (!stop.stopping() && clock.now() < deadline) {
    auto outcome = Attempt::elsewhere;
    if (!server_) {
      server_ = servers_.pick(failed);
      if (server_) ++server_->sessions;
    }
    if (server_) {
      outcome = co_await introduce(deadline, stop);
      if (outcome == Attempt::done) outcome = co_await attempt(max_tokens, deadline, stop);
    }
    if (outcome == Attempt::done) {
      prefix_.insert(prefix_.end(), message_.ids.begin(), message_.ids.end());
      held_ = static_cast<std::uint32_t>(prefix_.size());
      if (!message_.runs.empty())
        min_version_ = std::max(min_version_, message_.runs.back().weight_version);
      co_return std::move(message_);
    }
    if (outcome == Attempt::refused) co_return tl::unexpected(PolicyErrc::incompatible);
    if (outcome == Attempt::stopped) break;
    if (outcome == Attempt::miss) {
      if (held_ == 0) co_return tl::unexpected(PolicyErrc::incompatible);
      held_ = 0;
      continue;  // at once: the server is well, it only forgot
    }
    failing = true;
    if (outcome == Attempt::elsewhere) {
      failed = server_;
      leave();
    }
    co_await clock.sleep_until(std::min(deadline, clock.now() + backoff.next()), stop);
  }
  co_return tl::unexpected(failing || !stop.stopping() ? PolicyErrc::lost : PolicyErrc::cancelled);
}

/// Asks a new server who it is.
Task<Attempt> RemoteSession::introduce(TimePoint deadline, StopSource& stop) {
  if (introduced_) co_return Attempt::done;
  const auto until = std::min(deadline, servers_.clock().now() + seconds(5));
  const auto info =
      co_await unary_call(*server_->stub->async(), &v1::Policy::Stub::async::Info,
                          v1::PolicyInfoRequest{}, {until, servers_.settings().token}, stop);
  if (!info && stop.stopping()) co_return Attempt::stopped;
  if (!info) co_return judge({info.error().code, info.error().message});
  if (info->tokenizer_digest() != servers_.settings().tokenizer_digest) {
    log_error("policy server has another tokenizer",
              {{"server", server_->address}, {"theirs", info->tokenizer_digest()}});
    co_return Attempt::refused;
  }
  server_->weight_version = std::max(server_->weight_version, info->weight_version());
  identity_ = {info->config_digest(), info->tokenizer_digest()};
  introduced_ = true;
  co_return Attempt::done;
}

Attempt RemoteSession::judge(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::RESOURCE_EXHAUSTED:   // its queue is full
    case grpc::StatusCode::FAILED_PRECONDITION:  // older weights than we need: they are on the way
      return Attempt::later;
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::UNIMPLEMENTED:
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::PERMISSION_DENIED:
      log_error("policy server refuses", {{"session", name_}, {"why", status.error_message()}});
      return Attempt::refused;
    default:
      return Attempt::elsewhere;
  }
}

Task<Attempt> RemoteSession::attempt(std::uint32_t max_tokens, TimePoint deadline,
                                     StopSource& stop) {
  message_ = {};
  v1::GenerateRequest request;
  request.set_session(name_);
  request.set_held(held_);
  const std::span<const std::uint32_t> all(prefix_);
  request.set_held_hash(fnv1a(all.first(held_)));
  const auto append = all.subspan(held_);
  request.mutable_append_ids()->Add(append.begin(), append.end());
  *request.mutable_sampling() = sampling_;
  request.set_max_tokens(max_tokens);
  const auto& stops = servers_.settings().stop_ids;
  request.mutable_stop_ids()->Add(stops.begin(), stops.end());
  request.set_min_weight_version(min_version_);
  auto call = ReadCall<v1::GenerateResponse>::open(
      {deadline, servers_.settings().token}, [&](auto* context, auto* reactor) {
        server_->stub->async()->Generate(context, &request, reactor);
      });
  auto outcome = Attempt::elsewhere;
  grpc::Status status;
  {
    const auto hook = stop.on_stop([&call] { call.cancel(); });
    outcome = co_await read_message(call);
    status = co_await call.finish();
  }
  if (outcome != Attempt::elsewhere) co_return outcome;
  if (stop.stopping()) {  // what came before the cut counts
    message_.end = MessageEnd::cancelled;
    co_return message_.ids.empty() ? Attempt::stopped : Attempt::done;
  }
  co_return status.ok() ? Attempt::elsewhere : judge(status);
}

/// elsewhere: the stream ended without an end.
Task<Attempt> RemoteSession::read_message(ReadCall<v1::GenerateResponse>& call) {
  auto outcome = Attempt::elsewhere;
  while (auto response = co_await call.read()) {
    if (response->has_tokens()) {
      const auto& chunk = response->tokens();
      message_.ids.insert(message_.ids.end(), chunk.ids().begin(), chunk.ids().end());
      message_.behaviour_logprobs.insert(message_.behaviour_logprobs.end(),
                                         chunk.behaviour_logprobs().begin(),
                                         chunk.behaviour_logprobs().end());
      message_.runs.push_back(
          {static_cast<std::uint32_t>(chunk.ids_size()), chunk.weight_version()});
    } else if (response->has_end()) {
      switch (response->end().stop()) {
        case v1::GENERATE_STOP_STOP_ID:
          message_.end = MessageEnd::stop_id;
          outcome = Attempt::done;
          break;
        case v1::GENERATE_STOP_MAX_TOKENS:
          message_.end = MessageEnd::max_tokens;
          outcome = Attempt::done;
          break;
        case v1::GENERATE_STOP_CONTEXT_LIMIT:
          message_.end = MessageEnd::context_limit;
          outcome = Attempt::done;
          break;
        case v1::GENERATE_STOP_SESSION_MISS:
          outcome = Attempt::miss;
          break;
        default:
          break;
      }
    }
  }
  co_return outcome;
}

Task<> RemoteSession::close() {
  if (!server_ || held_ == 0) co_return;
  StopSource never;
  v1::CloseSessionRequest request;
  request.set_session(name_);
  const auto server = server_;
  leave();
  std::ignore = co_await unary_call(
      *server->stub->async(), &v1::Policy::Stub::async::Close, std::move(request),
      {servers_.clock().now() + seconds(2), servers_.settings().token}, never);
}

}  // namespace

std::unique_ptr<PolicyServers> make_policy_servers(Clock& clock, PolicyClientSettings settings) {
  return std::make_unique<RemoteServers>(clock, std::move(settings));
}

}  // namespace swage::rollout_worker
