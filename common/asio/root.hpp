#pragma once

#include <functional>
#include <string>

#include "common/asio/asio.hpp"
#include "common/asio/stop_source.hpp"
#include "common/base/time.hpp"

namespace swage {

/// Runs a process's root task on one strand until it returns. SIGINT and SIGTERM request `stop`
/// (touched on the root's strand only); a second signal is ignored. The root must drain and join
/// before it returns. When it has not returned `grace` after the signal, `stuck()` is called for a
/// list of names, which goes to stderr, and the process exits with 70; so it does, without names, a
/// twentieth of it, at most a second, later when the strand hangs. Graces:
/// common/base/stop_graces.hpp. threads: how many threads run the io_context. Returns the process's
/// exit code: the root's, or 70 after an exception (its text goes to stderr).
int run_root(std::function<Task<int>(asio::any_io_executor, StopSource&)> root, Duration grace,
             std::function<std::string()> stuck = {}, int threads = 1);

}  // namespace swage
