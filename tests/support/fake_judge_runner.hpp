#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/asio/event.hpp"
#include "common/base/check.hpp"
#include "gpu_pool/judge/api/judge_runner.hpp"

namespace swage::test {

/// A device whose judges end when the test says so. Checks that never two run at once.
class FakeJudgeRunner final : public judge::JudgeRunner {
 public:
  explicit FakeJudgeRunner(const asio::any_io_executor& strand) : changed_(strand) {}

  Task<Result<judge::JudgeOutcome, judge::JudgeErrc>> run(judge::JudgeRequest request,
                                                          std::function<void(judge::Progress)> tell,
                                                          StopSource& stop) override {
    check(running.empty(), "two judges on one device");
    log.push_back("start " + request.request);
    running = request.request;
    last = request;
    progress_ = std::move(tell);
    outcome_.reset();
    changed_.notify();
    while (!outcome_ && !stop.stopping() && !immediate) co_await changed_.wait(stop);
    StopSource never;
    while (stop.stopping() && slow_to_die) co_await changed_.wait(never);
    running.clear();
    progress_ = nullptr;
    if (stop.stopping()) {
      log.push_back("killed " + request.request);
      co_return tl::unexpected(judge::JudgeErrc::cancelled);
    }
    log.push_back("end " + request.request);
    if (immediate) co_return judge::JudgeOutcome{"verdict of " + request.request, "hmac"};
    co_return *outcome_;
  }
  bool knows(const std::string&) const override { return known; }
  Task<bool> clear() override {
    check(running.empty(), "cleared under a running judge");
    log.push_back(clean ? "clear" : "not clear");
    co_return clean;
  }
  Task<> shut_down() override { co_return; }

  /// Ends what runs.
  void finish(Result<judge::JudgeOutcome, judge::JudgeErrc> outcome) {
    outcome_ = std::move(outcome);
    changed_.notify();
  }
  void progress(judge::Progress progress) { progress_(std::move(progress)); }
  /// With slow_to_die: lets the killed one go.
  void die() {
    slow_to_die = false;
    changed_.notify();
  }
  bool was(const std::string& line) const {
    return std::find(log.begin(), log.end(), line) != log.end();
  }

  std::vector<std::string> log;
  std::string running;       ///< request that runs, empty if none
  judge::JudgeRequest last;  ///< last one that was started
  bool known = true;         ///< every task, or none
  bool clean = true;         ///< what clear() finds
  bool slow_to_die = false;  ///< a killed judge stays until die()
  bool immediate = false;    ///< every judge ends at once with a verdict

 private:
  Event changed_;
  std::function<void(judge::Progress)> progress_;
  std::optional<Result<judge::JudgeOutcome, judge::JudgeErrc>> outcome_;
};

}  // namespace swage::test
