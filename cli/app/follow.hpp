#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/app/terminal.hpp"
#include "common/asio/clock.hpp"
#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"
#include "common/http/client.hpp"

namespace swage::cli {

/// Shows a run's progress, asking its controller once a second, until `stop` is requested. A
/// controller that does not answer (yet) is asked again.
/// target: called each time, since a new run's address is not known at once; nothing: not yet.
Task<> follow_run(std::function<std::optional<HttpTarget>()> target, std::string run,
                  Terminal& terminal, Clock& clock, StopSource& stop);

}  // namespace swage::cli
