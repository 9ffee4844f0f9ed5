#include "tests/integration/rollout_worker/fake_servers.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

#include "common/base/digest.hpp"

namespace swage::rollout_worker::test {
namespace {

class PolicyService final : public v1::Policy::CallbackService {
 public:
  PolicyService(ServiceHome home, FakePolicy& fake) : home_(std::move(home)), fake_(fake) {}
  grpc::ServerUnaryReactor* Info(grpc::CallbackServerContext* context, const v1::PolicyInfoRequest*,
                                 v1::PolicyInfo* reply) override {
    return serve_unary(home_, context, reply, [this] { return info(fake_); });
  }
  grpc::ServerUnaryReactor* Close(grpc::CallbackServerContext* context,
                                  const v1::CloseSessionRequest*,
                                  v1::CloseSessionResponse* reply) override {
    return serve_unary(home_, context, reply, [] { return close(); });
  }
  grpc::ServerWriteReactor<v1::GenerateResponse>* Generate(
      grpc::CallbackServerContext* context, const v1::GenerateRequest* request) override {
    return serve_write<v1::GenerateResponse>(
        home_, context, [this, request = *request](auto stream, StopSource& gone) {
          return fake_.generate(std::move(stream), request, gone);
        });
  }

 private:
  static Task<ReplyOr<v1::PolicyInfo>> info(FakePolicy& fake) {
    v1::PolicyInfo reply;
    reply.set_tokenizer_digest(std::string(64, 'd'));
    reply.set_config_digest(std::string(64, 'c'));
    reply.set_weight_version(fake.weight_version);
    co_return reply;
  }
  static Task<ReplyOr<v1::CloseSessionResponse>> close() { co_return v1::CloseSessionResponse{}; }
  ServiceHome home_;
  FakePolicy& fake_;
};

class SandboxService final : public v1::Sandbox::CallbackService {
 public:
  SandboxService(ServiceHome home, FakeSandboxes& fake) : home_(std::move(home)), fake_(fake) {}
  grpc::ServerUnaryReactor* Hello(grpc::CallbackServerContext* context,
                                  const v1::HelloRequest* request,
                                  v1::HelloResponse* reply) override {
    return serve_unary(home_, context, reply,
                       [id = request->rollout().rollout_id()] { return hello(id); });
  }
  grpc::ServerBidiReactor<v1::SessionDown, v1::SessionUp>* Session(
      grpc::CallbackServerContext* context) override {
    const auto& metadata = context->client_metadata();
    const auto token = metadata.find("authorization");
    std::string rollout;
    if (token != metadata.end())
      rollout = std::string(token->second.data(), token->second.size()).substr(7);
    return serve_bidi<v1::SessionDown, v1::SessionUp>(
        home_, context, [this, rollout](auto stream, StopSource&) {
          return fake_.session(std::move(stream), rollout);
        });
  }

 private:
  static Task<ReplyOr<v1::HelloResponse>> hello(std::string rollout) {
    v1::HelloResponse reply;
    reply.set_pod_uid("pod-" + rollout);
    reply.set_isolation("full");
    co_return reply;
  }
  ServiceHome home_;
  FakeSandboxes& fake_;
};

class EvaluatorService final : public v1::Evaluator::CallbackService {
 public:
  EvaluatorService(ServiceHome home, FakeEvaluator& fake) : home_(std::move(home)), fake_(fake) {}
  grpc::ServerBidiReactor<v1::EvaluateRequest, v1::EvaluateResponse>* Evaluate(
      grpc::CallbackServerContext* context) override {
    return serve_bidi<v1::EvaluateRequest, v1::EvaluateResponse>(
        home_, context,
        [this](auto stream, StopSource&) { return fake_.evaluate(std::move(stream)); });
  }

 private:
  ServiceHome home_;
  FakeEvaluator& fake_;
};

class LearnerService final : public v1::Trajectories::CallbackService {
 public:
  LearnerService(ServiceHome home, FakeLearner& fake) : home_(std::move(home)), fake_(fake) {}
  grpc::ServerBidiReactor<v1::Trajectory, v1::SubmitAnswer>* Submit(
      grpc::CallbackServerContext* context) override {
    return serve_bidi<v1::Trajectory, v1::SubmitAnswer>(
        home_, context,
        [this](auto stream, StopSource&) { return fake_.submit(std::move(stream)); });
  }

 private:
  ServiceHome home_;
  FakeLearner& fake_;
};

class DispatchService final : public v1::Dispatch::CallbackService {
 public:
  DispatchService(ServiceHome home, FakeDispatcher& fake) : home_(std::move(home)), fake_(fake) {}
  grpc::ServerBidiReactor<v1::WorkerMessage, v1::DispatcherMessage>* Work(
      grpc::CallbackServerContext* context) override {
    return serve_bidi<v1::WorkerMessage, v1::DispatcherMessage>(
        home_, context,
        [this](auto stream, StopSource& gone) { return fake_.work(std::move(stream), gone); });
  }

 private:
  ServiceHome home_;
  FakeDispatcher& fake_;
};

}  // namespace

void FakeServer::start() {
  if (address_.starts_with("unix:")) std::filesystem::remove(address_.substr(5));
  stop_ = std::make_unique<StopSource>();
  gate_ = std::make_unique<Gate>(strand_, *stop_);
  service_.reset(make_service({strand_, *gate_, ""}));
  auto server = RpcServer::start(address_, {service_.get()});
  ASSERT_TRUE(server) << server.error().message;
  server_ = std::move(*server);
}

Task<> FakeServer::kill() {
  if (!server_) co_return;
  stop_->request(StopReason::fault);
  co_await server_->shut_down(Duration::zero());
  co_await gate_->join();
  server_.reset();
}

grpc::Service* FakePolicy::make_service(ServiceHome home) {
  return new PolicyService(std::move(home), *this);
}
grpc::Service* FakeSandboxes::make_service(ServiceHome home) {
  return new SandboxService(std::move(home), *this);
}
grpc::Service* FakeEvaluator::make_service(ServiceHome home) {
  return new EvaluatorService(std::move(home), *this);
}
grpc::Service* FakeLearner::make_service(ServiceHome home) {
  return new LearnerService(std::move(home), *this);
}
grpc::Service* FakeDispatcher::make_service(ServiceHome home) {
  return new DispatchService(std::move(home), *this);
}

Task<grpc::Status> FakePolicy::generate(WriteStream<v1::GenerateResponse> stream,
                                        v1::GenerateRequest request, StopSource& gone) {
  v1::GenerateResponse end;
  auto& session = sessions_[request.session()];
  if (request.held() == 0) session.clear();
  if (session.size() != request.held() || fnv1a(session) != request.held_hash()) {
    ++misses;
    session.clear();
    end.mutable_end()->set_stop(v1::GENERATE_STOP_SESSION_MISS);
    std::ignore = co_await stream.write(std::move(end));
    co_return grpc::Status::OK;
  }
  session.insert(session.end(), request.append_ids().begin(), request.append_ids().end());
  std::size_t turn = 0;  // as many messages as have been begun before this one
  for (const auto id : session) turn += id == ByteRenderer::kAssistant ? 1 : 0;
  const auto ids = renderer_.message(script.at(turn - 1));
  most_at_once = std::max(most_at_once, ++at_once_);
  bool written = true;
  for (std::size_t at = 0; at < ids.size() && written; at += 16) {
    v1::GenerateResponse chunk;
    auto& tokens = *chunk.mutable_tokens();
    for (auto i = at; i < std::min(at + 16, ids.size()); ++i) {
      tokens.add_ids(ids[i]);
      tokens.add_behaviour_logprobs(-0.25F);
    }
    tokens.set_weight_version(weight_version);
    written = co_await stream.write(std::move(chunk));
    if (!stuck) continue;
    Event never(strand_);
    StopSource& ending = *stop();
    const auto hook = gone.on_stop([&never] { never.notify(); });
    co_await never.wait(ending);
    written = false;
  }
  --at_once_;
  if (!written) co_return grpc::Status::CANCELLED;
  auto& held = sessions_[request.session()];  // it may have been forgotten meanwhile
  held.insert(held.end(), ids.begin(), ids.end());
  ++generated;
  end.mutable_end()->set_stop(v1::GENERATE_STOP_STOP_ID);
  std::ignore = co_await stream.write(std::move(end));
  co_return grpc::Status::OK;
}

Task<grpc::Status> FakeSandboxes::session(BidiStream<v1::SessionDown, v1::SessionUp> stream,
                                          std::string rollout) {
  most_sessions = std::max(most_sessions, ++sessions);
  std::optional<std::uint64_t> profiling;
  std::string digest = "start";
  grpc::Status status;
  while (auto down = co_await stream.read()) {
    v1::SessionUp up;
    if (down->has_lay()) {
      up.mutable_laid()->set_work_digest(digest);
      up.mutable_laid()->set_work_directory("/workspace/task");
    } else if (down->has_tool()) {
      ++tools;
      if (die_at_tool.contains(rollout)) {
        status = {grpc::StatusCode::UNAVAILABLE, "killed"};
        break;
      }
      if (down->tool().arguments_json().find("profiling") != std::string::npos) {
        profiling = down->tool().id();
        up.mutable_ask()->set_id(1);
        up.mutable_ask()->set_mode(v1::EVALUATION_MODE_SCORE);
        up.mutable_ask()->set_work_digest(digest);
        up.mutable_ask()->mutable_bundle()->set_id(std::string(64, 'b'));
        up.mutable_ask()->mutable_bundle()->set_library(std::string(3 << 20, 'l'));
      } else {
        digest += "+" + down->tool().name();
        up.mutable_result()->set_id(down->tool().id());
      }
    } else if (down->has_answer()) {
      up.mutable_result()->set_id(profiling.value_or(0));
      up.mutable_result()->set_text(down->answer().has_verdict() ? "judged" : "no verdict");
    } else if (down->has_pack()) {
      up.mutable_packed()->set_id(down->pack().id());
      up.mutable_packed()->set_work_digest(digest);
      up.mutable_packed()->mutable_bundle()->set_id(std::string(64, 'b'));
    } else {
      continue;
    }
    if (up.has_result()) {
      up.mutable_result()->set_schema_valid(true);
      up.mutable_result()->set_ok(true);
      up.mutable_result()->set_work_digest(digest);
    }
    if (!co_await stream.write(std::move(up))) break;
  }
  --sessions;
  co_return status;
}

Task<grpc::Status> FakeEvaluator::evaluate(
    BidiStream<v1::EvaluateRequest, v1::EvaluateResponse> stream) {
  const auto first = co_await stream.read();
  if (!first || !first->has_start()) co_return grpc::Status::CANCELLED;
  const auto& start = first->start();
  std::string bytes;
  while (bytes.size() < start.bundle_bytes()) {
    const auto next = co_await stream.read();
    if (!next) co_return grpc::Status::CANCELLED;
    bytes += next->chunk();
  }
  ++evaluations;
  v1::Bundle bundle;
  if (bundle.ParseFromString(bytes) && bundle.id() == start.bundle_id() &&
      !bundle.library().empty())
    ++libraries;
  requests.push_back(start.request());
  if (break_off > 0) {
    --break_off;
    co_return grpc::Status(grpc::StatusCode::UNAVAILABLE, "killed");
  }
  v1::EvaluateResponse response;
  if (refuse > 0) {
    --refuse;
    response.mutable_refused()->set_code(v1::EVALUATE_REFUSAL_STALE);
    std::ignore = co_await stream.write(std::move(response));
    co_return grpc::Status::OK;
  }
  response.mutable_progress()->set_phase("checks");
  if (!co_await stream.write(response)) co_return grpc::Status::CANCELLED;
  v1::Verdict verdict;
  verdict.set_schema_version(1);
  verdict.set_rollout_id(start.rollout().rollout_id());
  verdict.set_attempt(start.rollout().attempt());
  verdict.set_request(start.request());
  verdict.set_task_digest(start.task().digest());
  verdict.set_mode(start.mode());
  verdict.set_code(v1::VERDICT_CODE_OK);
  if (start.mode() == v1::EVALUATION_MODE_SCORE) verdict.set_reward(reward);
  verdict.mutable_trust()->set_level("full");
  response.mutable_verdict()->set_verdict(verdict.SerializeAsString());
  response.mutable_verdict()->set_hmac(std::string(32, 'h'));
  std::ignore = co_await stream.write(std::move(response));
  co_return grpc::Status::OK;
}

Task<grpc::Status> FakeLearner::submit(BidiStream<v1::Trajectory, v1::SubmitAnswer> stream) {
  while (auto trajectory = co_await stream.read()) {
    v1::SubmitAnswer answer;
    answer.set_rollout_id(trajectory->rollout_id());
    answer.set_attempt(trajectory->attempt());
    if (retry > 0) {
      --retry;
      answer.set_code(v1::SUBMIT_CODE_RETRY);
      answer.set_reason("disk_full");
    } else if (!trajectory->infrastructure_failure().empty()) {
      diagnosis.push_back(*trajectory);
      answer.set_code(v1::SUBMIT_CODE_ACCEPTED);
    } else if (!log.emplace(trajectory->rollout_id(), *trajectory).second) {
      ++duplicates;
      answer.set_code(v1::SUBMIT_CODE_DUPLICATE);
    } else {
      answer.set_code(v1::SUBMIT_CODE_ACCEPTED);
    }
    if (swallow > 0) {
      --swallow;
      co_return grpc::Status(grpc::StatusCode::UNAVAILABLE, "killed");
    }
    if (!co_await stream.write(std::move(answer))) break;
  }
  co_return grpc::Status::OK;
}

void FakeDispatcher::send(v1::DispatcherMessage message) {
  outbox_.push_back(std::move(message));
  pending_.notify();
}

const v1::RolloutDone* FakeDispatcher::done(const std::string& rollout,
                                            std::uint32_t attempt) const {
  for (const auto& done : dones)
    if (done.rollout().rollout_id() == rollout && done.rollout().attempt() == attempt) return &done;
  return nullptr;
}

Task<grpc::Status> FakeDispatcher::work(BidiStream<v1::WorkerMessage, v1::DispatcherMessage> stream,
                                        StopSource& gone) {
  ++connections;
  StopSource over;
  Gate pusher(strand_, over);
  EXPECT_TRUE(pusher.spawn("push", push(stream, over)));
  while (auto message = co_await stream.read()) {
    if (message->has_hello()) hellos.push_back(message->hello());
    if (message->has_report()) reports.push_back(message->report());
    if (message->has_done()) dones.push_back(message->done());
  }
  std::ignore = gone;
  over.request(StopReason::requested);
  pending_.notify();
  co_await pusher.join();
  co_return grpc::Status::OK;
}

Task<> FakeDispatcher::push(BidiStream<v1::WorkerMessage, v1::DispatcherMessage> stream,
                            StopSource& gone) {
  v1::DispatcherMessage first;
  *first.mutable_policy_set() = policies;
  if (!co_await stream.write(std::move(first))) co_return;
  while (!gone.stopping()) {
    if (outbox_.empty()) {
      co_await pending_.wait(gone);
      continue;
    }
    auto message = std::move(outbox_.front());
    outbox_.erase(outbox_.begin());
    if (!co_await stream.write(std::move(message))) co_return;
  }
}

}  // namespace swage::rollout_worker::test
