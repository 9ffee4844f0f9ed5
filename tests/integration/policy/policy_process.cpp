#include "tests/integration/policy/policy_process.hpp"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "common/base/digest.hpp"
#include "common/base/files.hpp"
#include "common/rpc/channel.hpp"
#include "policy/adapters/convert.hpp"
#include "policy/tokenizer/renderer.hpp"
#include "policy/tokenizer/trainer.hpp"
#include "tests/support/signal_process.hpp"

extern char** environ;

namespace swage::policy::test {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

std::string some_tokenizer() {
  const std::vector<std::string> texts{"for (int i = 0; i < n; ++i)\n  y[i] = x[i];\n"};
  return train_tokenizer({300, tiny_special_tokens(), 1}, texts);
}

}  // namespace

PolicyProcess::PolicyProcess(std::string learner) {
  const auto at = [this](const char* name) { return (directory_.path() / name).string(); };
  std::ofstream(at("tokenizer.json")) << some_tokenizer();
  std::ofstream(at("token")) << kToken;
  const auto loaded = Tokenizer::load(at("tokenizer.json"));
  if (!loaded) throw std::runtime_error(loaded.error().message);
  tokenizer_ = *loaded;
  const Json config{{"name", "test-policy-0"},
                    {"run", "test"},
                    {"run_uid", kRunUid},
                    {"listen", address()},
                    {"http", "127.0.0.1:0"},
                    {"ready_file", at("ready")},
                    {"token_file", at("token")},
                    {"model", {{"source", "scratch:tiny"}, {"tokenizer", at("tokenizer.json")}}},
                    {"learner", learner},
                    {"kv", "recompute"},
                    {"threads", 1},
                    {"seed", 1}};
  std::ofstream(at("config.json")) << config.dump();
  std::filesystem::permissions(at("token"), std::filesystem::perms::owner_read);
}

PolicyProcess::~PolicyProcess() { kill(); }

void PolicyProcess::start() {
  const auto ready = directory_.path() / "ready";
  std::filesystem::remove(ready);
  const auto binary = environment_or("SWAGE_BIN_DIR", "bin") + "/swage-policy";
  const auto config = (directory_.path() / "config.json").string();
  std::vector<std::string> words{binary, "--config", config};
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  if (posix_spawn(&pid_, binary.c_str(), nullptr, nullptr, argv.data(), environ) != 0) {
    pid_ = -1;
    throw std::runtime_error("cannot start " + binary);
  }
  const auto deadline = std::chrono::steady_clock::now() + 50s;
  while (!std::filesystem::exists(ready)) {
    if (waitpid(pid_, nullptr, WNOHANG) == pid_ || std::chrono::steady_clock::now() > deadline)
      throw std::runtime_error(binary + " is not ready");
    std::this_thread::sleep_for(20ms);
  }
  http_port_ = Json::parse(*read_file(ready)).at("http_port").get<int>();
  const auto channel = make_channel(address());
  policy_ = v1::Policy::NewStub(channel);
  weights_ = v1::Weights::NewStub(channel);
}

void PolicyProcess::kill() {
  if (pid_ <= 0) return;
  swage::test::signal_process(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

int PolicyProcess::terminate() {
  swage::test::signal_process(pid_, SIGTERM);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::unique_ptr<grpc::ClientContext> PolicyProcess::context() const {
  auto context = std::make_unique<grpc::ClientContext>();
  context->AddMetadata("authorization", std::string("Bearer ") + kToken);
  context->set_deadline(std::chrono::system_clock::now() + 50s);
  return context;
}

Generated generate(PolicyProcess& server, const v1::GenerateRequest& request) {
  Generated out;
  const auto context = server.context();
  const auto reader = server.policy().Generate(context.get(), request);
  v1::GenerateResponse message;
  while (reader->Read(&message)) {
    if (message.has_end()) out.end = message.end();
    const auto& tokens = message.tokens();
    out.ids.insert(out.ids.end(), tokens.ids().begin(), tokens.ids().end());
    out.logprobs.insert(out.logprobs.end(), tokens.behaviour_logprobs().begin(),
                        tokens.behaviour_logprobs().end());
    out.versions.resize(out.ids.size(), tokens.weight_version());
  }
  out.status = reader->Finish();
  return out;
}

v1::WeightManifest manifest_of(const std::string& bytes, std::int64_t vocabulary,
                               std::uint64_t version) {
  const auto config = tiny_config(vocabulary);
  WeightManifest manifest{
      kRunUid,  version, version,          config_digest(config), "f32", weight_layout(config),
      1U << 20, {},      sha256_hex(bytes)};
  for (std::size_t at = 0; at < bytes.size(); at += manifest.chunk_bytes)
    manifest.chunk_crc32c.push_back(
        crc32c(std::string_view(bytes).substr(at, manifest.chunk_bytes)));
  return to_proto(manifest);
}

v1::PutRequest chunk_of(const v1::WeightManifest& manifest, const std::string& bytes,
                        std::uint32_t index) {
  v1::PutRequest message;
  message.mutable_chunk()->set_index(index);
  message.mutable_chunk()->set_data(
      bytes.substr(std::size_t{index} * manifest.chunk_bytes(), manifest.chunk_bytes()));
  return message;
}

PutResult publish(PolicyProcess& server, const v1::WeightManifest& manifest,
                  const std::string& bytes, int broken) {
  PutResult out;
  v1::OfferRequest offer;
  *offer.mutable_manifest() = manifest;
  const auto offer_context = server.context();
  const auto offered = server.weights().Offer(offer_context.get(), offer, &out.offer);
  if (!offered.ok()) throw std::runtime_error(offered.error_message());
  if (out.offer.answer() != v1::OFFER_ANSWER_SEND) return out;
  const auto context = server.context();
  const auto stream = server.weights().Put(context.get());
  v1::PutRequest first;
  *first.mutable_manifest() = manifest;
  stream->Write(first);
  for (const auto index : out.offer.missing()) {
    auto message = chunk_of(manifest, bytes, index);
    if (static_cast<int>(index) == broken) (*message.mutable_chunk()->mutable_data())[9] ^= 4;
    stream->Write(message);
  }
  stream->WritesDone();
  stream->Read(&out.put);
  stream->Finish();
  return out;
}

}  // namespace swage::policy::test
