#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu_pool/lease/api/lease_holder.hpp"

namespace swage::rollout_worker::test {

/// Grants every ask at once, each with the next token, on the GPU worker at `address`.
class FakeLeases final : public lease::LeaseHolder {
 public:
  explicit FakeLeases(std::string address) : address_(std::move(address)) {}

  Task<Result<std::unique_ptr<lease::Lease>, lease::HoldErrc>> hold(lease::HoldAsk ask,
                                                                    StopSource& stop) override {
    if (stop.stopping()) co_return tl::unexpected(lease::HoldErrc::cancelled);
    asks.push_back(std::move(ask));
    co_return std::make_unique<Held>(*this, lease::Token{1, ++counter_});
  }
  Task<> shut_down() override { co_return; }

  std::vector<lease::HoldAsk> asks;
  std::vector<lease::ReleaseAs> releases;

 private:
  class Held final : public lease::Lease {
   public:
    Held(FakeLeases& owner, lease::Token token) : owner_(owner), token_(token) {}
    const lease::GpuId& gpu() const override { return gpu_; }
    const std::string& address() const override { return owner_.address_; }
    lease::Token token() const override { return token_; }
    TimePoint usable_until() const override {
      return std::chrono::steady_clock::now() + std::chrono::seconds(12);
    }
    StopSource& lost() override { return lost_; }
    std::optional<lease::LeaseErrc> lost_because() const override { return std::nullopt; }
    void on_renewed(std::function<void(TimePoint)>) override {}
    Task<bool> release(lease::ReleaseAs how) override {
      owner_.releases.push_back(how);
      co_return true;
    }

   private:
    FakeLeases& owner_;
    lease::Token token_;
    lease::GpuId gpu_{"gpu-0"};
    StopSource lost_;
  };

  std::string address_;
  std::uint64_t counter_ = 0;
};

}  // namespace swage::rollout_worker::test
