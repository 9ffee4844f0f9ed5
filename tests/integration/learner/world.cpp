#include "tests/integration/learner/world.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <tuple>

#include "common/base/digest.hpp"
#include "common/base/files.hpp"
#include "common/rpc/channel.hpp"
#include "policy/tokenizer/tokenizer.hpp"
#include "policy/tokenizer/trainer.hpp"

namespace swage::test {
namespace {

constexpr const char* kUid = "aaaabbbbccccdddd";
constexpr const char* kToken = "internal token";

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

Task<> send_commands(BidiStream<v1::LearnerMessage, v1::ControllerCommand> stream,
                     Mailbox<v1::ControllerCommand>& from, StopSource& gone) {
  while (auto command = co_await from.pop(gone))
    if (!co_await stream.write(std::move(*command))) co_return;
}

}  // namespace

grpc::ServerBidiReactor<v1::LearnerMessage, v1::ControllerCommand>* ControlServer::Attach(
    grpc::CallbackServerContext* context) {
  return serve_bidi<v1::LearnerMessage, v1::ControllerCommand>(
      home_, context,
      [this](BidiStream<v1::LearnerMessage, v1::ControllerCommand> stream, StopSource& gone) {
        return serve(std::move(stream), gone);
      });
}

Task<grpc::Status> ControlServer::serve(
    BidiStream<v1::LearnerMessage, v1::ControllerCommand> stream, StopSource& gone) {
  ++attachments;
  complete = false;
  accepted.clear();
  v1::ControllerCommand first;
  *first.mutable_policy_set() = policy_set;
  to_send.push(std::move(first));
  StopSource fault;
  Gate sender(home_.strand, fault);
  std::ignore = sender.spawn("send", send_commands(stream, to_send, gone));
  while (const auto message = co_await stream.read()) {
    if (message->has_accepted()) {
      for (const auto& id : message->accepted().rollout_ids()) accepted.push_back(id);
      complete = message->accepted().last();
    } else if (message->has_status()) {
      status = message->status();
      all.push_back(status);
    }
  }
  gone.request(StopReason::requested);
  co_await sender.join();
  co_return grpc::Status::OK;
}

grpc::ServerUnaryReactor* WeightsServer::Offer(grpc::CallbackServerContext* context,
                                               const v1::OfferRequest* request,
                                               v1::OfferResponse* reply) {
  return serve_unary<v1::OfferResponse>(home_, context, reply,
                                        [this, request] { return offer(request->manifest()); });
}

Task<ReplyOr<v1::OfferResponse>> WeightsServer::offer(v1::WeightManifest offered) {
  v1::OfferResponse reply;
  reply.set_held_version(version);
  reply.set_answer(offered.version() <= version ? v1::OFFER_ANSWER_STALE_VERSION
                                                : v1::OFFER_ANSWER_SEND);
  if (offered.version() > version)
    for (int i = 0; i < offered.chunk_crc32c_size(); ++i)
      reply.add_missing(static_cast<std::uint32_t>(i));
  co_return reply;
}

grpc::ServerBidiReactor<v1::PutRequest, v1::PutResponse>* WeightsServer::Put(
    grpc::CallbackServerContext* context) {
  return serve_bidi<v1::PutRequest, v1::PutResponse>(
      home_, context, [this](BidiStream<v1::PutRequest, v1::PutResponse> stream, StopSource&) {
        return put(std::move(stream));
      });
}

Task<grpc::Status> WeightsServer::put(BidiStream<v1::PutRequest, v1::PutResponse> stream) {
  const auto head = co_await stream.read();
  if (!head || !head->has_manifest()) co_return grpc::Status(grpc::INVALID_ARGUMENT, "manifest");
  const auto& m = head->manifest();
  std::string buffer(m.total_bytes(), '\0');
  while (const auto part = co_await stream.read()) {
    const auto& chunk = part->chunk();
    EXPECT_EQ(crc32c(chunk.data()), m.chunk_crc32c(static_cast<int>(chunk.index())));
    buffer.replace(static_cast<std::size_t>(chunk.index()) * m.chunk_bytes(), chunk.data().size(),
                   chunk.data());
  }
  EXPECT_EQ(sha256_hex(buffer), m.sha256());
  manifest = m;
  version = m.version();
  versions.push_back(version);
  digests[version] = m.sha256();
  v1::PutResponse reply;
  reply.set_answer(v1::OFFER_ANSWER_SEND);
  reply.set_loaded_version(version);
  std::ignore = co_await stream.write(std::move(reply));
  co_return grpc::Status::OK;
}

World::World() {
  const auto strand = run.executor();
  gate_ = std::make_unique<Gate>(strand, stop_);
  const ServiceHome home{strand, *gate_, kToken};
  control = std::make_unique<ControlServer>(home, strand);
  weights = std::make_unique<WeightsServer>(home);
  control_server_ =
      std::move(*RpcServer::start("unix:" + (directory.path() / "c").string(), {control.get()}));
  const auto policy = "unix:" + (directory.path() / "p").string();
  weights_server_ = std::move(*RpcServer::start(policy, {weights.get()}));
  control->policy_set.add_servers()->set_address(policy);
  change_tokenizer(272, {"read compile verify profile", "slow fast wrong"});
  write(directory.path() / "key", key);
  write(directory.path() / "token", kToken);
}

void World::change_tokenizer(std::uint32_t vocabulary, const std::vector<std::string>& texts) {
  const auto json = policy::train_tokenizer(
      {.vocabulary = vocabulary, .special = {"<|user|>", "<|end|>"}, .min_count = 1}, texts);
  write(directory.path() / "tokenizer.json", json);
  tokenizer_digest = policy::Tokenizer::parse(json)->digest();
}

World::~World() {
  if (process_ && !ended_->ended) kill();
  stream_.reset();
  stop_.request(StopReason::requested);
  const auto end = [this]() -> Task<> {
    co_await control_server_->shut_down(std::chrono::seconds(0));
    co_await weights_server_->shut_down(std::chrono::seconds(0));
    co_await gate_->join();
  };
  run(end());
}

nlohmann::json World::default_config() const {
  const auto at = [this](const char* name) { return (directory.path() / name).string(); };
  return {{"name", "test-learner-0"},
          {"run", "test"},
          {"run_uid", kUid},
          {"listen", "unix:" + at("l")},
          {"http", "127.0.0.1:0"},
          {"ready_file", at("ready")},
          {"token_file", at("token")},
          {"out", at("out")},
          {"model", {{"source", "scratch:tiny"}, {"tokenizer", at("tokenizer.json")}}},
          {"controller", "unix:" + at("c")},
          {"verdict_key_file", at("key")},
          {"pool", "swage-pool.local"},
          {"allow_reduced_trust", true},
          {"seed", 7},
          {"threads", 1},
          {"preset", "OneMachine"},
          {"evaluation_rollouts", 2},
          {"stages",
           {{"collect", {{"trajectories", 8}}},
            {"rft", {{"epochs", 2}, {"minKept", 2}}},
            {"critic", {{"maxPasses", 2}}},
            {"agentic", {{"steps", 3}, {"contextTokens", 256}}}}},
          {"learning", {{"batch", 4}, {"groupSize", 2}, {"deterministic", true}}}};
}

bool World::start(const nlohmann::json& changes) {
  auto config = default_config();
  config.merge_patch(changes);
  write(directory.path() / "config.json", config.dump(1));
  std::filesystem::remove(directory.path() / "ready");
  std::filesystem::remove(directory.path() / "l");
  const auto binary =
      std::filesystem::path(environment_or("SWAGE_BIN_DIR", "build/dev/bin")) / "swage-learner";
  ProcessSpec spec;
  spec.argv = {binary.string(), "--config", (directory.path() / "config.json").string()};
  spec.env = current_environment();
  spec.log = directory.path() / "log";
  process_ = std::move(*Process::start(run.executor(), spec));
  ended_ = run.start(process_->wait());
  stream_.reset();
  channel_ = make_channel("unix:" + (directory.path() / "l").string());
  stub_ = v1::Trajectories::NewStub(channel_);
  run.wait_until(
      [&] { return std::filesystem::exists(directory.path() / "ready") || ended_->ended; },
      std::chrono::seconds(60));
  if (ended_->ended) return false;
  return run.wait_until([&] { return control->complete && weights->version > 0; },
                        std::chrono::seconds(60));
}

void World::kill() {
  process_->signal(SIGKILL, true);
  run.wait_until([&] { return ended_->ended; });
  stream_.reset();
}

int World::terminate() {
  process_->signal(SIGTERM, false);
  run.wait_until([&] { return ended_->ended; }, std::chrono::seconds(60));
  stream_.reset();
  return exit_code().value_or(-1);
}

std::optional<int> World::exit_code() {
  if (!ended_->ended) return std::nullopt;
  const int status = ended_->value();
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string World::log() const { return read_file(directory.path() / "log").value_or(""); }

Task<v1::SubmitAnswer> World::submit_on_stream(v1::Trajectory trajectory) {
  if (!stream_) {
    stream_.emplace(BidiCall<v1::Trajectory, v1::SubmitAnswer>::open(
        {long_stream_deadline(), kToken},
        [this](auto* context, auto* reactor) { stub_->async()->Submit(context, reactor); }));
  }
  std::ignore = co_await stream_->write(std::move(trajectory));
  auto answer = co_await stream_->read();
  if (!answer) {
    stream_.reset();
    co_return v1::SubmitAnswer{};
  }
  co_return std::move(*answer);
}

v1::SubmitAnswer World::submit(v1::Trajectory trajectory) {
  return run(submit_on_stream(std::move(trajectory)));
}

v1::Trajectory World::get(const std::string& id) {
  v1::GetTrajectoryRequest request;
  request.set_rollout_id(id);
  const auto reply =
      run(unary_call(*stub_->async(), &v1::Trajectories::Stub::async::Get, request,
                     {std::chrono::steady_clock::now() + std::chrono::seconds(10), kToken}, stop_));
  return reply ? *reply : v1::Trajectory{};
}

std::vector<v1::TrajectoryLine> World::list() {
  v1::ListTrajectoriesRequest request;
  request.set_limit(3);  // small: paging is part of what is looked at
  std::vector<v1::TrajectoryLine> lines;
  while (true) {
    const auto reply = run(
        unary_call(*stub_->async(), &v1::Trajectories::Stub::async::List, request,
                   {std::chrono::steady_clock::now() + std::chrono::seconds(10), kToken}, stop_));
    if (!reply) return lines;
    lines.insert(lines.end(), reply->lines().begin(), reply->lines().end());
    if (reply->next_seq() == 0) return lines;
    request.set_after_seq(reply->next_seq());
  }
}

bool World::until(const std::function<bool()>& condition, int seconds) {
  const bool held = run.wait_until(condition, std::chrono::seconds(seconds));
  EXPECT_TRUE(held) << control->status.ShortDebugString() << "\n" << log();
  return held;
}

bool World::reaches(v1::Stage stage, std::uint32_t round, int seconds) {
  return until(
      [&] { return control->status.stage() == stage && control->status.stage_round() == round; },
      seconds);
}

v1::SignedVerdict World::verdict(const std::string& id, int reward, const std::string& other_key) {
  v1::Verdict v;
  v.set_schema_version(1);
  v.set_rollout_id(id);
  v.set_attempt(1);
  v.set_pool("swage-pool.local");
  v.set_mode(v1::EVALUATION_MODE_SCORE);
  v.set_code(reward > 0 ? v1::VERDICT_CODE_OK : v1::VERDICT_CODE_MISMATCH);
  v.set_task_id("softmax");
  v.set_task_digest(std::string(64, 'a'));
  v.mutable_trust()->set_level("reduced");
  v.set_tier(reward > 0 ? static_cast<std::uint32_t>(reward) : 0);
  v.set_reward(reward);
  v1::SignedVerdict out;
  out.set_verdict(v.SerializeAsString());
  out.set_hmac(hmac_sha256(other_key.empty() ? key : other_key, out.verdict()));
  return out;
}

v1::Trajectory World::trajectory(const std::string& id, v1::Stage stage, std::uint64_t group,
                                 std::uint32_t member, int reward) {
  const bool teacher = stage == v1::STAGE_COLLECT;
  v1::Trajectory t;
  t.set_schema_version(1);
  t.set_rollout_id(id);
  t.set_attempt(1);
  t.set_run_uid(kUid);
  t.set_stage(stage);
  t.set_stage_round(stage == v1::STAGE_EVALUATION ? control->status.stage_round() : 0);
  t.set_task_id("softmax");
  t.set_task_digest(std::string(64, 'a'));
  t.set_group_id(group);
  t.set_group_index(member);
  t.set_config_digest(teacher ? "" : weights->manifest.config_digest());
  t.set_tokenizer_digest(tokenizer_digest);
  t.set_renderer("tiny");
  t.mutable_sampling()->set_temperature(0.6F);
  t.set_use(teacher                         ? v1::USE_IMITATION
            : stage == v1::STAGE_EVALUATION ? v1::USE_EVALUATION
                                            : v1::USE_PPO);
  t.set_actor(teacher ? v1::ACTOR_TEACHER : v1::ACTOR_POLICY);
  // prompt of 4, a message of 5, an observation of 3, a message of 4
  const std::vector<std::pair<std::uint32_t, bool>> layout{
      {4, false}, {5, true}, {3, false}, {4, true}};
  const float none = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [count, sampled] : layout) {
    const auto begin = static_cast<std::uint32_t>(t.token_ids_size());
    for (std::uint32_t i = 0; i < count; ++i) {
      t.add_token_ids((begin * 7 + i * 3 + static_cast<std::uint32_t>(reward + 1) * 11 +
                       static_cast<std::uint32_t>(group) * 5 + member) %
                      250);
      t.mutable_loss_mask()->push_back(sampled ? 1 : 0);
      t.add_behaviour_logprobs(sampled && !teacher ? -2.5F : none);
    }
    if (!sampled) continue;
    auto* turn = t.add_turns();
    turn->set_policy_begin(begin);
    turn->set_policy_end(begin + count);
    turn->set_work_digest(id + std::to_string(begin));
    if (!teacher) {
      auto* span = t.add_version_spans();
      span->set_begin(begin);
      span->set_end(begin + count);
      span->set_weight_version(control->status.weight_version());
    }
  }
  t.mutable_turns(0)->set_observation_end(t.turns(1).policy_begin());
  t.mutable_turns(1)->set_observation_end(static_cast<std::uint32_t>(t.token_ids_size()));
  auto* call = t.mutable_turns(0)->add_calls();
  call->set_name("Bash");
  call->set_schema_valid(true);
  auto* entry = t.add_rewards();
  entry->set_position(static_cast<std::uint32_t>(t.token_ids_size()) - 1);
  entry->set_value(reward);
  entry->set_kind("terminal");
  *t.add_verdicts() = verdict(id, reward);
  t.set_final_verdict(0);
  t.set_stop_reason(v1::STOP_REASON_NO_TOOL_CALL);
  return t;
}

void World::feed_one() {
  const auto& s = control->status;
  const auto stage = s.stage();
  const std::uint64_t wanted = stage == v1::STAGE_AGENTIC ? (s.step() + 1) * s.batch() : s.target();
  const bool feeds =
      stage == v1::STAGE_COLLECT || stage == v1::STAGE_EVALUATION || stage == v1::STAGE_AGENTIC;
  const auto next = s.accepted();
  if (!feeds || s.training() || s.has_pause() || next >= wanted) {
    run.wait_until([] { return false; }, std::chrono::milliseconds(20));
    return;
  }
  const auto group = next / s.group_size();
  const auto member = static_cast<std::uint32_t>(next % s.group_size());
  constexpr int kRewards[] = {1, 3, -1, 2};
  std::string id = "aaaabbbb-agentic-";
  if (stage == v1::STAGE_COLLECT) id = "aaaabbbb-collect-";
  if (stage == v1::STAGE_EVALUATION) id = "aaaabbbb-eval" + std::to_string(s.stage_round()) + "-";
  id += std::to_string(group) + "-" + std::to_string(member);
  const auto answer = submit(trajectory(id, stage, group, member, kRewards[next % 4]));
  ASSERT_NE(answer.code(), v1::SUBMIT_CODE_REJECTED) << answer.ShortDebugString();
  run.wait_until([&] { return s.accepted() > next || s.stage() != stage; },
                 std::chrono::seconds(10));
}

void World::feed_until(v1::Stage last, int seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  const auto& s = control->status;
  while (s.stage() != v1::STAGE_DONE && s.stage() != last) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << s.ShortDebugString() << "\n" << log();
    ASSERT_NO_FATAL_FAILURE(feed_one());
  }
}

}  // namespace swage::test
