#include "common/base/command.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "common/base/check.hpp"
#include "common/base/descriptor.hpp"

extern char** environ;

namespace swage {
namespace {

/// What posix_spawn does to the descriptors of the child.
class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  /// To be said last.
  void close_others() { posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1); }
  void connect(int descriptor, int as) {
    posix_spawn_file_actions_adddup2(&actions_, descriptor, as);
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

std::string all_of(int descriptor) {
  std::string text;
  std::array<char, 4096> block{};
  while (true) {
    const ssize_t got = ::read(descriptor, block.data(), block.size());
    if (got > 0) text.append(block.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR)) return text;
  }
}

int exit_code_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

CommandResult run_command(std::vector<std::string> command, CommandOutput output) {
  check(!command.empty(), "a command has a program");
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (auto& word : command) words.push_back(word.data());
  words.push_back(nullptr);

  CommandResult result;
  FileActions actions;
  Descriptor ours;
  Descriptor theirs;
  if (output == CommandOutput::none) {
    theirs = Descriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  } else if (output != CommandOutput::shown) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return result;
    ours = Descriptor(ends[0]);
    theirs = Descriptor(ends[1]);
  }
  if (theirs) actions.connect(theirs.get(), STDOUT_FILENO);
  if (theirs && output != CommandOutput::answer) actions.connect(theirs.get(), STDERR_FILENO);
  actions.close_others();
  pid_t child = -1;
  if (::posix_spawnp(&child, words[0], actions.get(), nullptr, words.data(), environ) != 0)
    return result;
  theirs = Descriptor();
  if (ours) result.text = all_of(ours.get());
  result.exit_code = exit_code_of(child);
  while (result.text.ends_with('\n')) result.text.pop_back();
  return result;
}

}  // namespace swage
