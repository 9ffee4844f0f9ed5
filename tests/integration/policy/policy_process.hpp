#pragma once

#include <grpcpp/grpcpp.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "policy/model/config.hpp"
#include "policy/tokenizer/tokenizer.hpp"
#include "swage/v1/policy.grpc.pb.h"
#include "swage/v1/weights.grpc.pb.h"
#include "tests/support/temp_directory.hpp"

namespace swage::policy::test {

/// A real `swage-policy` of the test's own, and blocking clients of it. Killed at the end.
class PolicyProcess {
 public:
  /// learner: address of a Weights service to fetch from; empty: none.
  explicit PolicyProcess(std::string learner = "");
  ~PolicyProcess();
  PolicyProcess(const PolicyProcess&) = delete;
  PolicyProcess& operator=(const PolicyProcess&) = delete;

  void start();     ///< returns when the ready file is there; throws after a while
  void kill();      ///< SIGKILL, and waits for its end
  int terminate();  ///< SIGTERM; returns the exit code

  std::string address() const { return "unix:" + (directory_.path() / "p.sock").string(); }
  int http_port() const { return http_port_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  v1::Policy::Stub& policy() { return *policy_; }
  v1::Weights::Stub& weights() { return *weights_; }
  /// With the bearer token and a deadline of 50 s.
  std::unique_ptr<grpc::ClientContext> context() const;

 private:
  swage::test::TempDirectory directory_;
  std::optional<Tokenizer> tokenizer_;
  std::unique_ptr<v1::Policy::Stub> policy_;
  std::unique_ptr<v1::Weights::Stub> weights_;
  pid_t pid_ = -1;
  int http_port_ = 0;
};

inline constexpr const char* kRunUid = "0a1b2c3d-run";
inline constexpr const char* kToken = "internal-token";

/// What one Generate yielded.
struct Generated {
  std::vector<std::uint32_t> ids;
  std::vector<float> logprobs;
  std::vector<std::uint64_t> versions;
  v1::GenerateEnd end;
  grpc::Status status;
};
Generated generate(PolicyProcess& server, const v1::GenerateRequest& request);

/// A version of `bytes` as the learner would offer it, 1 MiB chunks.
v1::WeightManifest manifest_of(const std::string& bytes, std::int64_t vocabulary,
                               std::uint64_t version);
/// Offers and puts; chunk `broken` (if >= 0) gets a flipped bit.
struct PutResult {
  v1::OfferResponse offer;
  v1::PutResponse put;
};
PutResult publish(PolicyProcess& server, const v1::WeightManifest& manifest,
                  const std::string& bytes, int broken = -1);
/// The chunk messages of a buffer.
v1::PutRequest chunk_of(const v1::WeightManifest& manifest, const std::string& bytes,
                        std::uint32_t index);

}  // namespace swage::policy::test
