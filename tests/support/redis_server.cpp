#include "tests/support/redis_server.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
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

extern char** environ;

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
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const std::string log = (directory_.path() / "redis.log").string();
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  std::filesystem::remove(socket());
  const int failed = ::posix_spawnp(&pid_, "redis-server", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("redis-server is missing");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!accepts(socket())) {  // it has no other way to say that it serves
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("redis-server hangs");
    std::this_thread::yield();
  }
}

void RedisServer::kill() {
  signal(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void RedisServer::signal(int number) { ::kill(pid_, number); }

}  // namespace swage::test
