#pragma once

#include <sys/types.h>

#include <string>

#include "tests/support/temp_directory.hpp"

namespace swage::test {

/// A real redis-server of the test's own on a Unix socket, without persistence. Killed at the end.
class RedisServer {
 public:
  explicit RedisServer(std::string password = "", std::string policy = "noeviction");
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  std::string address() const { return "unix:" + socket(); }
  void start();             ///< returns when it accepts connections
  void kill();              ///< SIGKILL, and waits for its end
  void signal(int number);  ///< e.g. SIGSTOP, SIGCONT

 private:
  std::string socket() const { return (directory_.path() / "redis.sock").string(); }

  TempDirectory directory_;
  std::string password_, policy_;
  pid_t pid_ = -1;
};

}  // namespace swage::test
