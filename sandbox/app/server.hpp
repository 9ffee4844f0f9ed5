#pragma once

#include <filesystem>

#include "common/asio/asio.hpp"
#include "common/asio/stop_source.hpp"
#include "sandbox/app/config.hpp"

namespace swage::sandbox {

/// `swage-sandboxd serve`: probes the machine, serves swage.v1.Sandbox until `stop`, ends the
/// session that runs, and returns the process's exit code. program: this binary.
Task<int> serve(asio::any_io_executor strand, SandboxConfig config, std::filesystem::path program,
                StopSource& stop);

}  // namespace swage::sandbox
