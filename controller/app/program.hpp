#pragma once

#include <cstdio>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>

#include "common/asio/clock.hpp"
#include "common/asio/gate.hpp"
#include "common/asio/root.hpp"

namespace swage::controller {

/// Says on stderr what keeps the program from starting. Returns `code`, the process's exit code.
inline int complain(const std::string& what, int code) {
  std::fprintf(stderr, "swage-controller: %s\n", what.c_str());
  return code;
}

/// Names of what runs in these gates, after those of `out`, for the watchdog.
inline std::string still_running_in(std::initializer_list<const Gate*> gates,
                                    std::string out = {}) {
  for (const auto* gate : gates)
    for (const auto& name : gate->names()) out += (out.empty() ? "" : ", ") + name;
  return out;
}

/// The root task: one Root from start to end. stuck: who still runs, while there is a Root.
template <class Root, class Setup>
Task<int> run_one(asio::any_io_executor strand, StopSource& stop, Clock& clock, Setup setup,
                  std::function<std::string()>& stuck) {
  Root root(strand, stop, clock, std::move(setup));
  stuck = [&root] { return root.still_running(); };
  const int code = co_await root.run();
  stuck = nullptr;
  co_return code;
}

/// Runs a RunController or an Operator on this thread until it ends, at the latest `grace` after a
/// signal. Returns the process's exit code.
template <class Root, class Setup>
int run_program(const Setup& setup, Duration grace) {
  const auto clock = make_steady_clock();
  std::function<std::string()> stuck;
  return run_root(
      [&](asio::any_io_executor strand, StopSource& stop) {
        return run_one<Root>(std::move(strand), stop, *clock, setup, stuck);
      },
      grace, [&] { return stuck ? stuck() : std::string("(not started)"); });
}

}  // namespace swage::controller
