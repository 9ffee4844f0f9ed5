#include "common/asio/root.hpp"

#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

#include "common/base/exit_code.hpp"

namespace swage {

int run_root(std::function<Task<int>(asio::any_io_executor, StopSource&)> root, Duration grace,
             std::function<std::string()> stuck, int threads) {
  std::signal(SIGPIPE, SIG_IGN);
  asio::io_context context(threads);
  const auto strand = asio::make_strand(context);
  StopSource stop;
  asio::signal_set signals(strand, SIGINT, SIGTERM);
  asio::steady_timer watchdog(strand);
  signals.async_wait([&](const boost::system::error_code& e, int) {
    if (e) return;
    watchdog.expires_after(grace);
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
