#include "common/asio/root.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/signal_set.hpp>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <thread>
#include <vector>

#include "common/base/exit_code.hpp"

namespace swage {
namespace {

/// Ends the process when the strand itself does not come back, for then the watchdog cannot fire:
/// a thread of its own, until it goes.
class LastResort {
 public:
  void start(Duration after) {
    thread_ = std::jthread([this, after](const std::stop_token& stop) {
      std::unique_lock lock(mutex_);
      ended_.wait_for(lock, stop, after, [] { return false; });
      if (stop.stop_requested()) return;
      // No stdio: the thread that hangs may hold its lock.
      constexpr std::string_view kText =
          "still running after the grace period: a thread that does not come back\n";
      [[maybe_unused]] const auto told = ::write(STDERR_FILENO, kText.data(), kText.size());
      std::_Exit(exit_code::kBug);
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace

int run_root(std::function<Task<int>(asio::any_io_executor, StopSource&)> root, Duration grace,
             std::function<std::string()> stuck, int threads) {
  std::signal(SIGPIPE, SIG_IGN);
  asio::io_context context(threads);
  const auto strand = asio::make_strand(context);
  StopSource stop;
  asio::signal_set signals(strand, SIGINT, SIGTERM);
  asio::steady_timer watchdog(strand);
  LastResort last_resort;
  signals.async_wait([&](const boost::system::error_code& e, int) {
    if (e) return;
    watchdog.expires_after(grace);
    last_resort.start(grace + std::min<Duration>(grace / 20, std::chrono::seconds(1)));
    watchdog.async_wait([&](const boost::system::error_code& cancelled) {
      if (cancelled) return;
      std::fprintf(stderr, "still running after the grace period: %s\n",
                   stuck ? stuck().c_str() : "(unknown)");
      std::fflush(nullptr);
      std::_Exit(exit_code::kBug);
    });
    stop.request(StopReason::requested);
  });

  int code = exit_code::kBug;
  asio::co_spawn(strand, root(strand, stop), [&](const std::exception_ptr& e, int value) {
    signals.cancel();
    watchdog.cancel();
    if (!e) {
      code = value;
      return;
    }
    try {
      std::rethrow_exception(e);
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "fatal: %s\n", failure.what());
    } catch (...) {
      std::fprintf(stderr, "fatal: an exception of unknown type\n");
    }
  });
  std::vector<std::jthread> helpers;
  for (int i = 1; i < threads; ++i) helpers.emplace_back([&context] { context.run(); });
  context.run();
  return code;
}

}  // namespace swage
