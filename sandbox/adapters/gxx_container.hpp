#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/asio/clock.hpp"
#include "sandbox/adapters/gxx_compile_service.hpp"
#include "sandbox/adapters/gxx_toolchain.hpp"

namespace swage::sandbox {

/// One run of the compiler.
struct CompilerRun {
  std::vector<std::string> argv;  ///< with the places of compile_plan.hpp
  std::filesystem::path source;   ///< shown as /src, read-only
  std::filesystem::path output;   ///< shown as /out, writable
  std::filesystem::path headers;  ///< shown as /toolchain/pch; empty: not shown
  std::filesystem::path stubs;    ///< shown as /toolchain/stubs; empty: not shown
  bool torch = false;             ///< show torch's and Python's headers
  std::chrono::seconds limit{60};
  bool makes_header = false;  ///< may write half a gigabyte
  bool cuda = false;          ///< show nvcc and what belongs to it
};

struct CompilerEnd {
  bool ok = false;
  std::string diagnostics;  ///< tidied
};

/// Runs the compiler under its limits (8 GiB, files of 256 MiB unless it makes the header, 64
/// processes, CPU and wall time) in a container without network. Ends it when `stop` is requested.
/// Error: bubblewrap or the compiler cannot be started.
Task<Result<CompilerEnd, CompileError>> run_compiler(asio::any_io_executor strand, Clock& clock,
                                                     const HostFacts& host,
                                                     const CompileSettings& settings,
                                                     const ToolchainFacts& toolchain,
                                                     CompilerRun run, StopSource& stop);

}  // namespace swage::sandbox
