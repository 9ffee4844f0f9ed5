#include "common/asio/gate.hpp"

#include <utility>

#include "common/base/check.hpp"

namespace swage {

Gate::Gate(asio::any_io_executor strand, StopSource& stop, std::size_t cap)
    : strand_(std::move(strand)), stop_(stop), cap_(cap), idle_(strand_) {}

Gate::~Gate() { check(running_.empty(), "join() a gate before it goes"); }

bool Gate::spawn(std::string name, Task<> task) {
  if (closed_ || running_.size() >= cap_) return false;
  const auto at = running_.insert(running_.end(), std::move(name));
  asio::co_spawn(strand_, std::move(task), [this, at](std::exception_ptr e) { ended(at, e); });
  return true;
}

Task<> Gate::join() {
  closed_ = true;
  boost::system::error_code woken;
  while (!running_.empty()) {
    idle_.expires_at(asio::steady_timer::time_point::max());
    co_await idle_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Gate::ended(std::list<std::string>::iterator at, const std::exception_ptr& e) {
  running_.erase(at);
  if (e && !failure_) failure_ = e;
  if (e) stop_.request(StopReason::fault);
  if (running_.empty()) idle_.cancel();
}

}  // namespace swage
