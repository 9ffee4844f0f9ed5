#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "common/asio/asio.hpp"

namespace swage {

/// Lets threads of a library post to a strand whose io_context may be gone before they let go of
/// this. An executor that counts as work touches its io_context when it is destroyed, so the strand
/// gives it up itself, by close(), while it still runs.
class StrandLink {
 public:
  /// Keeps the strand's io_context running until close().
  explicit StrandLink(const asio::any_io_executor& strand)
      : strand_(asio::prefer(strand, asio::execution::outstanding_work.tracked)) {}

  /// Any thread. False: closed, and `fn` will not run.
  template <class Fn>
  bool post(Fn fn) {
    const std::lock_guard lock(mutex_);
    if (!strand_) return false;
    asio::post(*strand_, std::move(fn));
    return true;
  }
  /// On the strand. When it returns no other thread is inside post(), nor will be.
  void close() {
    const std::lock_guard lock(mutex_);
    strand_.reset();
  }

 private:
  std::mutex mutex_;
  std::optional<asio::any_io_executor> strand_;
};

/// Carries one completion from a thread of a library to the coroutine that waits for it.
/// `Resume` is an asio completion handler.
template <class Resume>
class Handoff : public std::enable_shared_from_this<Handoff<Resume>> {
 public:
  explicit Handoff(Resume resume)
      : link_(asio::get_associated_executor(resume)), resume_(std::move(resume)) {}

  /// Resumes the coroutine on its own executor with `values`. Any thread, once.
  template <class... Values>
  void complete(Values... values) {
    link_.post([self = this->shared_from_this(),
                values = std::tuple<Values...>(std::move(values)...)]() mutable {
      self->link_.close();
      auto resume = std::move(*self->resume_);
      self->resume_.reset();
      std::apply([&](Values&... each) { std::move(resume)(std::move(each)...); }, values);
    });
  }

 private:
  StrandLink link_;
  std::optional<Resume> resume_;  // the strand's, once complete() has been called
};

template <class Resume>
std::shared_ptr<Handoff<Resume>> make_handoff(Resume resume) {
  return std::make_shared<Handoff<Resume>>(std::move(resume));
}

}  // namespace swage
