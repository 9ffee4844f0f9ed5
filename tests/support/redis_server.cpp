#include "tests/support/redis_server.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/support/signal_process.hpp"

namespace swage::test {
namespace {

bool accepts(const std::string& path) {
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const bool ok = ::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(descriptor);
  return ok;
}

}  // namespace

RedisServer::RedisServer(std::string password, std::string policy)
    : password_(std::move(password)), policy_(std::move(policy)) {
  start();
}

RedisServer::~RedisServer() {
  if (pid_ > 0) kill();
}

void RedisServer::start() {
  std::vector<std::string> words = {"redis-server",
                                    "--port",
                                    "0",
                                    "--unixsocket",
                                    socket(),
                                    "--save",
                                    "",
                                    "--appendonly",
                                    "no",
                                    "--dir",
                                    directory_.path().string(),
                                    "--maxmemory-policy",
                                    policy_};
  if (!password_.empty()) words.insert(words.end(), {"--requirepass", password_});
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string log = (directory_.path() / "redis.log").string();
  std::filesystem::remove(socket());
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // also when the test aborts
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(out, 1);
    ::dup2(out, 2);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  if (pid_ < 0) throw std::runtime_error("redis-server cannot be started");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!accepts(socket())) {  // it has no other way to say that it serves
    if (std::chrono::steady_clock::now() > end || ::waitpid(pid_, nullptr, WNOHANG) != 0) {
      if (signal_process(pid_, 0) != 0) pid_ = -1;
      throw std::runtime_error("redis-server is missing or does not start");
    }
    std::this_thread::yield();
  }
}

void RedisServer::kill() {
  signal(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void RedisServer::signal(int number) {
  if (pid_ > 0) signal_process(pid_, number);
}

}  // namespace swage::test
