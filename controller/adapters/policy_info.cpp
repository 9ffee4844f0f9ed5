#include "controller/adapters/policy_info.hpp"

#include <utility>

#include "common/rpc/channel.hpp"
#include "common/rpc/client.hpp"
#include "swage/v1/policy.grpc.pb.h"

namespace swage::controller {
namespace {

class Info final : public PolicyInfo {
 public:
  explicit Info(std::string token) : token_(std::move(token)) {}

  Task<std::optional<std::uint64_t>> weight_version(std::string address, TimePoint deadline,
                                                    StopSource& stop) override {
    auto& stub = stubs_[address];
    if (!stub) stub = v1::Policy::NewStub(make_channel(address));
    const auto reply =
        co_await unary_call(*stub->async(), &v1::Policy::Stub::async::Info, v1::PolicyInfoRequest{},
                            CallOptions{deadline, token_}, stop);
    if (!reply) co_return std::nullopt;
    co_return reply->weight_version();
  }

 private:
  std::string token_;
  std::map<std::string, std::unique_ptr<v1::Policy::Stub>> stubs_;
};

}  // namespace

std::unique_ptr<PolicyInfo> make_policy_info(std::string token) {
  return std::make_unique<Info>(std::move(token));
}

}  // namespace swage::controller
