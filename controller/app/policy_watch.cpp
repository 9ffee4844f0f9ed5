#include "controller/app/policy_watch.hpp"

namespace swage::controller {

using namespace std::chrono_literals;

Task<> PolicyWatch::run(std::function<std::vector<std::string>()> ready,
                        std::function<void(std::vector<PolicyServer>)> changed, StopSource& stop) {
  while (!stop.stopping()) {
    std::vector<PolicyServer> now;
    for (const auto& address : ready()) {
      const auto version = co_await info_->weight_version(address, clock_.now() + 2s, stop);
      if (version) now.push_back({address, *version});
    }
    if (now != servers_) {
      servers_ = now;
      changed(servers_);
    }
    co_await clock_.sleep_for(250ms, stop);
  }
}

}  // namespace swage::controller
