#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "common/base/files.hpp"
#include "gpu_pool/worker/adapters/judge_runner.hpp"

namespace swage::worker {
namespace {

namespace fs = std::filesystem;

tl::unexpected<std::string> not_writable(const fs::path& cache, const std::string& why) {
  return tl::unexpected(why + "; what is compiled for judgements is kept in " + cache.string() +
                        ": give it to user " + std::to_string(::geteuid()) +
                        " (`sudo chown -R`) or remove it");
}

std::string reason(const fs::path& folder, const std::error_code& failed) {
  return "cannot write to " + folder.string() + ": " + failed.message();
}

/// The first folder in `cache` that this user may not add to; root may everywhere.
Result<void, std::string> check_folders(const fs::path& cache) {
  std::error_code failed;
  for (fs::recursive_directory_iterator at(cache, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::error_code gone;
    if (!at->is_directory(gone) || at->is_symlink(gone)) continue;
    if (::faccessat(AT_FDCWD, at->path().c_str(), R_OK | W_OK | X_OK, AT_EACCESS) == 0) continue;
    if (errno == ENOENT) continue;  // another process tidies up
    return not_writable(cache, reason(at->path(), std::error_code(errno, std::generic_category())));
  }
  // Another process may tidy up meanwhile; what is left then is looked at by the next start.
  if (failed && failed != std::errc::no_such_file_or_directory)
    return not_writable(cache, reason(cache, failed));
  return {};
}

}  // namespace

Result<void, std::string> check_cache(const fs::path& cache) {
  std::error_code failed;
  fs::create_directories(cache, failed);
  if (failed) return not_writable(cache, reason(cache, failed));
  // A full or read-only file system is only found by writing.
  const auto probe = cache / (".writable-" + std::to_string(::getpid()));
  const auto written = write_file_durably(probe, "probe");
  fs::remove(probe, failed);
  if (!written) return not_writable(cache, reason(cache, written.error().code));
  return check_folders(cache);
}

}  // namespace swage::worker
