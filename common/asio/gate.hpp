#pragma once

#include <cstddef>
#include <exception>
#include <limits>
#include <list>
#include <string>
#include <vector>

#include "common/asio/asio.hpp"
#include "common/asio/stop_source.hpp"

namespace swage {

/// Owns tasks on one strand. A task that throws stops its siblings through `stop`, and join()
/// rethrows the first failure. Touched only on that strand. Declare it last in its class.
class Gate {
 public:
  static constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max();

  Gate(asio::any_io_executor strand, StopSource& stop, std::size_t cap = kUnbounded);
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate();

  /// False: closed or full, and the task never starts. `name` is for people.
  [[nodiscard]] bool spawn(std::string name, Task<> task);

  /// Lets no more in, waits for the last to end, rethrows the first failure.
  Task<> join();

  std::size_t running() const { return running_.size(); }
  std::vector<std::string> names() const { return {running_.begin(), running_.end()}; }

 private:
  void ended(std::list<std::string>::iterator at, const std::exception_ptr& e);

  asio::any_io_executor strand_;
  StopSource& stop_;
  std::size_t cap_;
  asio::steady_timer idle_;  // never expires: cancelling it wakes join()
  bool closed_ = false;
  std::exception_ptr failure_;
  std::list<std::string> running_;  // by name: a join that hangs can say for whom
};

}  // namespace swage
