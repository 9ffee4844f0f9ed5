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

/// `swage-sandboxd headers`: makes in `out` what compile services need of a toolchain and the
/// template of work directories alone (field installed_header_directory), and returns the process's
/// exit code.
Task<int> make_installed_headers(asio::any_io_executor strand, Toolchain toolchain,
                                 std::filesystem::path work_template, std::filesystem::path out,
                                 StopSource& stop);

}  // namespace swage::sandbox
