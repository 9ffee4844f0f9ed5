#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include "common/asio/asio.hpp"
#include "common/asio/clock.hpp"
#include "sandbox/adapters/host.hpp"
#include "sandbox/api/compile_service.hpp"

namespace swage::sandbox {

/// The compiler's user where no other is configured.
inline constexpr uid_t kCompileUid = 64005;

/// How the compile service works.
struct CompileSettings {
  Toolchain toolchain;
  std::filesystem::path cache_directory;  ///< objects, libraries, locks; ours alone (0700)
  /// Precompiled header, link stubs and torch's symbol list: half a gigabyte that depends on the
  /// toolchain only. Empty: in cache_directory.
  std::filesystem::path header_directory;
  /// The same, made before by make_headers() and only read; used instead where it fits the
  /// toolchain.
  std::filesystem::path installed_header_directory;
  std::filesystem::path scratch_directory;  ///< for one compilation each; emptied by it
  std::optional<uid_t> compile_uid;         ///< the compiler's user, where we are root
  bool allow_reduced = false;               ///< without bubblewrap: compile all the same
  std::chrono::seconds object_limit{60};
  std::chrono::seconds total_limit{
      120};  ///< compiler time of one compilation; none starts after it
  std::chrono::seconds header_limit{300};
  unsigned slots = 0;  ///< compilers at once; 0: one a core
};

/// A compile service that runs g++ in bubblewrap containers that see sources, toolchain and nothing
/// else. Makes the directories. The strand, the clock and the facts outlive it; no compile() may be
/// under way when it goes.
std::unique_ptr<CompileService> make_gxx_compile_service(asio::any_io_executor strand, Clock& clock,
                                                         HostFacts host, CompileSettings settings);

/// Makes what depends on the toolchain alone, in settings.header_directory, so that compile
/// services elsewhere need not: headers, and the objects of the files that every work directory
/// begins with.
Task<Result<void, CompileError>> make_headers(asio::any_io_executor strand, Clock& clock,
                                              HostFacts host, CompileSettings settings,
                                              std::vector<WorkFile> work_template,
                                              StopSource& stop);

}  // namespace swage::sandbox
