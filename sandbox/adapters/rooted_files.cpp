#include "sandbox/adapters/rooted_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>

#include "common/base/descriptor.hpp"
#include "common/base/digest.hpp"
#include "sandbox/api/work_layout.hpp"

namespace swage::sandbox {
namespace {

constexpr std::size_t kMaxReadable = std::size_t{8} << 20;
constexpr std::size_t kMaxWalked = 20'000;
constexpr int kMaxDepth = 64;

int open_beneath(int root, const std::string& path, int flags, unsigned mode = 0) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how));
}

/// The sentence for a failed system call on `path`.
std::string sentence(const RootedPath& path, int error) {
  const auto& name = path.absolute;
  switch (error) {
    case ENOENT:
      return name + " does not exist; look with Bash or Glob.";
    case ELOOP:
    case EXDEV:
      return name + " leads through a symbolic link; use the file's own path.";
    case ENOTDIR:
      return name + " leads through a file as if it were a directory; check the path.";
    case EISDIR:
      return name + " is a directory; name a file in it.";
    case EACCES:
    case EPERM:
    case EROFS:
    case EBUSY:
      return name + " is read-only; put your work into model_new.py and kernels/.";
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return name + " does not fit: the disk space of the sandbox is used up; remove files.";
    default:
      return name + ": " + std::strerror(error) + ".";
  }
}

tl::unexpected<std::string> refusal(const RootedPath& path, int error) {
  return tl::unexpected(sentence(path, error));
}

Result<std::string, int> read_all(int fd, std::size_t most) {
  std::string out;
  char buffer[65536];
  while (true) {
    const auto got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tl::unexpected(errno);
    if (got == 0) return out;
    out.append(buffer, static_cast<std::size_t>(got));
    if (out.size() > most) return tl::unexpected(EFBIG);
  }
}

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const auto done = ::write(fd, content.data(), content.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

std::pair<std::string, std::string> split(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

/// Makes each missing directory of a relative path. False: errno says why.
bool make_directories(int root, const std::string& path) {
  for (std::size_t at = path.find('/');; at = path.find('/', at + 1)) {
    const auto [parent, name] = split(path.substr(0, at));
    const Descriptor directory(open_beneath(root, parent, O_PATH | O_DIRECTORY));
    if (!directory) return false;
    if (::mkdirat(directory.get(), name.c_str(), 0755) != 0 && errno != EEXIST) return false;
    if (at == std::string::npos) return true;
  }
}

using Visit = std::function<void(int directory, const char* name, const std::string& path,
                                 const struct stat& status)>;

/// Calls `visit` for every regular file below an open directory, which is closed.
void walk_below(int fd, const std::string& prefix, int depth, std::size_t& left,
                const Visit& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fd), ::closedir);
  if (!stream) {
    ::close(fd);
    return;
  }
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == ".." || left == 0) continue;
    --left;
    struct stat status{};
    if (::fstatat(::dirfd(stream.get()), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    std::string path = prefix;
    if (!path.empty()) path += '/';
    path += name;
    if (S_ISREG(status.st_mode)) visit(::dirfd(stream.get()), name.c_str(), path, status);
    if (!S_ISDIR(status.st_mode) || depth == 0) continue;
    const int below = ::openat(::dirfd(stream.get()), name.c_str(),
                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below >= 0) walk_below(below, path, depth - 1, left, visit);
  }
}

}  // namespace

RootedFiles::RootedFiles(AgentRoots roots)
    : roots_(std::move(roots)),
      work_(::open(roots_.work.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
      temporary_(::open(roots_.temporary.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

RootedFiles::~RootedFiles() {
  if (work_ >= 0) ::close(work_);
  if (temporary_ >= 0) ::close(temporary_);
}

Result<std::string, std::string> RootedFiles::read(const RootedPath& path) const {
  // O_NONBLOCK: opening a pipe without a writer must not hang the runner.
  const Descriptor file(open_beneath(root_of(path), path.relative, O_RDONLY | O_NONBLOCK));
  if (!file) return refusal(path, errno);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return refusal(path, errno);
  if (S_ISDIR(status.st_mode)) return refusal(path, EISDIR);
  if (!S_ISREG(status.st_mode))
    return tl::unexpected(path.absolute + " is not a regular file; use Bash.");
  auto content = read_all(file.get(), kMaxReadable);
  if (content) return std::move(*content);
  if (content.error() == EFBIG)
    return tl::unexpected(path.absolute + " is larger than 8 MiB; use head, tail or sed in Bash.");
  return refusal(path, content.error());
}

bool RootedFiles::exists(const RootedPath& path) const {
  const Descriptor file(open_beneath(root_of(path), path.relative, O_PATH | O_NOFOLLOW));
  return static_cast<bool>(file) || errno != ENOENT;
}

Result<void, std::string> RootedFiles::check_reachable(const RootedPath& path) const {
  const Descriptor file(open_beneath(root_of(path), path.relative, O_PATH));
  if (!file) return refusal(path, errno);
  return {};
}

Result<void, std::string> RootedFiles::write(const RootedPath& path,
                                             std::string_view content) const {
  const int root = root_of(path);
  const auto [parent, name] = split(path.relative);
  if (path.relative == ".") return refusal(path, EISDIR);
  if (parent != "." && !make_directories(root, parent)) return refusal(path, errno);
  const Descriptor directory(open_beneath(root, parent, O_RDONLY | O_DIRECTORY));
  if (!directory) return refusal(path, errno);
  struct stat old{};
  const bool there = ::fstatat(directory.get(), name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
  if (there && S_ISDIR(old.st_mode)) return refusal(path, EISDIR);
  if (there && !S_ISREG(old.st_mode)) return refusal(path, ELOOP);
  const auto temporary = ".swage-" + to_hex(random_bytes(8));
  {
    const Descriptor file(::openat(directory.get(), temporary.c_str(),
                                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                   there ? old.st_mode & 0777U : 0644U));
    if (!file) return refusal(path, errno);
    if (!write_all(file.get(), content)) {
      const int error = errno;
      ::unlinkat(directory.get(), temporary.c_str(), 0);
      return refusal(path, error);
    }
  }
  if (::renameat(directory.get(), temporary.c_str(), directory.get(), name.c_str()) != 0) {
    const int error = errno;
    ::unlinkat(directory.get(), temporary.c_str(), 0);
    return refusal(path, error);
  }
  return {};
}

Result<std::vector<FoundFile>, std::string> RootedFiles::walk(const RootedPath& directory) const {
  const int fd = open_beneath(root_of(directory), directory.relative, O_RDONLY | O_DIRECTORY);
  if (fd < 0) return refusal(directory, errno);
  std::vector<FoundFile> out;
  std::size_t left = kMaxWalked;
  walk_below(
      fd, directory.absolute, kMaxDepth, left,
      [&](int, const char*, const std::string& path, const struct stat& status) {
        out.push_back({path, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec});
      });
  return out;
}

Result<std::vector<WorkFile>, std::string> RootedFiles::collect() const {
  std::vector<WorkFile> out;
  std::string problem;
  const auto take = [&](int directory, const char* name, const std::string& path,
                        const struct stat& status) {
    if (!is_handed_in(path) || !problem.empty()) return;
    const Descriptor file(
        ::openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file) return;
    auto content = read_all(file.get(), kMaxFileBytes);
    if (!content && content.error() == EFBIG)
      problem = "`" + path + "` is larger than 1 MiB; make it smaller or remove it.";
    if (!content) return;
    const unsigned mode = (status.st_mode & 0200U) != 0 ? 0644 : 0444;
    out.push_back({path, mode, std::move(*content)});
    if (out.size() > kMaxBundleFiles)
      problem = "There are more than 64 source files; remove what is not needed.";
  };
  const int fd = ::openat(work_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return tl::unexpected(std::string("The work directory cannot be read."));
  std::size_t left = kMaxWalked;
  walk_below(fd, "", 1, left, take);
  if (!problem.empty()) return tl::unexpected(std::move(problem));
  return out;
}

}  // namespace swage::sandbox
