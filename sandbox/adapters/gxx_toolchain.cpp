#include "sandbox/adapters/gxx_toolchain.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "common/base/command.hpp"
#include "common/base/digest.hpp"
#include "common/base/files.hpp"
#include "sandbox/core/compile_plan.hpp"
#include "sandbox/core/elf_check.hpp"

namespace swage::sandbox {
namespace {

namespace fs = std::filesystem;

/// What a trusted program prints, without the last line end; nothing if it fails.
std::optional<std::string> output_of(std::vector<std::string> command) {
  auto ran = run_command(std::move(command), CommandOutput::answer);
  if (ran.exit_code != 0) return std::nullopt;
  return std::move(ran.text);
}

}  // namespace

Result<ToolchainFacts, std::string> examine_toolchain(const Toolchain& toolchain) {
  using Missing = tl::unexpected<std::string>;
  const auto version = output_of({toolchain.cxx, "-dumpfullversion"});
  if (!version)
    return Missing("the compiler " + toolchain.cxx + " does not run; install the package g++");
  const auto torch_version = read_file(toolchain.torch_directory / "version.py");
  if (!torch_version ||
      !fs::exists(toolchain.torch_directory / "include/torch/csrc/api/include/torch/types.h"))
    return Missing("there is no torch with headers in " + toolchain.torch_directory.string() +
                   "; set toolchain.torch_directory to the wheel's torch folder");
  const auto include = output_of({toolchain.python.string(), "-I", "-c",
                                  "import sysconfig; print(sysconfig.get_paths()['include'])"});
  const fs::path headers = include.value_or("/nowhere");
  const auto python_version = read_file(headers / "patchlevel.h");
  if (!python_version || !fs::exists(headers / "Python.h"))
    return Missing("the interpreter " + toolchain.python.string() +
                   " does not run or has no headers; set toolchain.python, or install python3-dev");
  ToolchainFacts facts;
  facts.name = fs::path(toolchain.cxx).filename().string() + " " + *version;
  if (!toolchain.cuda_directory.empty()) {
    const auto nvcc = output_of({toolchain.cuda_directory / "bin" / "nvcc", "--version"});
    if (!nvcc)
      return Missing("there is no nvcc in " + toolchain.cuda_directory.string() +
                     "; run `make setup-gpu`");
    facts.name += ", nvcc " + nvcc->substr(nvcc->rfind('\n') + 1);
  }
  facts.id = sha256_hex(facts.name + "\n" + *torch_version + "\n" + *python_version + "\n" +
                        std::string(kBindingHeader));
  facts.python_include = headers;
  return facts;
}

Result<void, std::string> write_known_symbols(const Toolchain& toolchain, const fs::path& file) {
  std::vector<std::string> names;
  for (const auto& name : stub_files(!toolchain.cuda_directory.empty())) {
    const auto path = name == kCudaRuntime
                          ? toolchain.torch_directory.parent_path() / "nvidia/cu13/lib" / name
                          : toolchain.torch_directory / "lib" / name;
    const MappedFile mapped(path);
    const auto bytes = mapped.bytes();
    if (!bytes) return tl::unexpected("cannot read " + path.string());
    auto summary = read_elf(*bytes);
    if (!summary) return tl::unexpected(path.string() + ": " + summary.error());
    names.insert(names.end(), std::make_move_iterator(summary->exported.begin()),
                 std::make_move_iterator(summary->exported.end()));
  }
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  std::string text;
  for (const auto& name : names) text += name + "\n";
  if (const auto wrote = write_file_durably(file, text); !wrote)
    return tl::unexpected(wrote.error().message);
  return {};
}

MappedFile::MappedFile(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  struct stat status{};
  if (::fstat(fd, &status) == 0 && status.st_size > 0) {
    const auto size = static_cast<std::size_t>(status.st_size);
    void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at != MAP_FAILED) {
      at_ = at;
      size_ = size;
    }
  }
  ::close(fd);
}

MappedFile::~MappedFile() {
  if (at_ != nullptr) ::munmap(at_, size_);
}

std::optional<std::string_view> MappedFile::bytes() const {
  if (at_ == nullptr) return std::nullopt;
  return std::string_view(static_cast<const char*>(at_), size_);
}

}  // namespace swage::sandbox
