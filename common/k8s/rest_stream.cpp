#include "common/k8s/rest_stream.hpp"

#include <cpprest/astreambuf.h>

namespace swage::k8s {
namespace {

using Byte = std::uint8_t;

/// Write only: all of reading and seeking is refused.
class LineBuffer final : public concurrency::streams::details::streambuf_state_manager<Byte> {
 public:
  explicit LineBuffer(std::shared_ptr<StreamInbox> to)
      : streambuf_state_manager<Byte>(std::ios_base::out), to_(std::move(to)) {}

  bool can_seek() const override { return false; }
  bool has_size() const override { return false; }
  std::size_t buffer_size(std::ios_base::openmode) const override { return 0; }
  void set_buffer_size(std::size_t, std::ios_base::openmode) override {}
  std::size_t in_avail() const override { return 0; }
  pos_type getpos(std::ios_base::openmode) const override { return kNowhere; }
  pos_type seekpos(pos_type, std::ios_base::openmode) override { return kNowhere; }
  pos_type seekoff(off_type, std::ios_base::seekdir, std::ios_base::openmode) override {
    return kNowhere;
  }
  bool acquire(Byte*& data, std::size_t& size) override {
    data = nullptr;
    size = 0;
    return false;
  }
  void release(Byte*, std::size_t) override {}

 protected:
  Byte* _alloc(std::size_t) override { return nullptr; }
  void _commit(std::size_t) override {}
  pplx::task<int_type> _putc(Byte byte) override {
    to_->received(reinterpret_cast<const char*>(&byte), 1);
    return pplx::task_from_result<int_type>(byte);
  }
  pplx::task<std::size_t> _putn(const Byte* data, std::size_t size) override {
    to_->received(reinterpret_cast<const char*>(data), size);
    return pplx::task_from_result(size);
  }
  pplx::task<int_type> _bumpc() override { return no_character(); }
  int_type _sbumpc() override { return traits::eof(); }
  pplx::task<int_type> _getc() override { return no_character(); }
  int_type _sgetc() override { return traits::eof(); }
  pplx::task<int_type> _nextc() override { return no_character(); }
  pplx::task<int_type> _ungetc() override { return no_character(); }
  pplx::task<std::size_t> _getn(Byte*, std::size_t) override {
    return pplx::task_from_result<std::size_t>(0);
  }
  std::size_t _scopy(Byte*, std::size_t) override { return 0; }
  pplx::task<bool> _sync() override { return pplx::task_from_result(true); }

 private:
  static inline const pos_type kNowhere = pos_type(off_type(-1));
  static pplx::task<int_type> no_character() {
    return pplx::task_from_result<int_type>(traits::eof());
  }

  std::shared_ptr<StreamInbox> to_;
};

}  // namespace

concurrency::streams::streambuf<std::uint8_t> make_stream_buffer(std::shared_ptr<StreamInbox> to) {
  return concurrency::streams::streambuf<Byte>(std::make_shared<LineBuffer>(std::move(to)));
}

void StreamInbox::received(const char* data, std::size_t size) {
  const std::lock_guard lock(mutex_);
  if (closed_ || !broken_.empty()) return;
  std::vector<std::string> lines;
  const bool short_enough = splitter_.feed(
      {data, size}, [&lines](std::string line) { lines.push_back(std::move(line)); });
  std::size_t bytes = 0;
  for (const auto& line : lines) bytes += line.size();
  const auto unread = unread_.fetch_add(bytes) + bytes;
  if (!short_enough) broken_ = "a line of the stream is too long";
  if (unread > limits_.unread) broken_ = "the reader has fallen behind the stream";
  if (!broken_.empty()) {
    // Not from here: cancelling completes the request, whose continuation would want our lock.
    link_.post([self = shared_from_this()] { self->cancel(); });
    return;
  }
  if (lines.empty()) return;
  link_.post([&reader = reader_, lines = std::move(lines)]() mutable {
    for (auto& line : lines) reader.lines_.push_back(std::move(line));
    reader.changed_.notify();
  });
}

void StreamInbox::headers(int status, std::optional<std::chrono::seconds> retry_after) {
  link_.post([&reader = reader_, status, retry_after] {
    reader.status_ = status;
    reader.retry_after_ = retry_after;
    reader.changed_.notify();
  });
}

void StreamInbox::finished(std::string failure) {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  if (!broken_.empty()) failure = broken_;
  auto rest = splitter_.take_rest();
  link_.post([&reader = reader_, failure = std::move(failure), rest = std::move(rest)]() mutable {
    if (failure.empty() && !rest.empty()) reader.lines_.push_back(std::move(rest));
    reader.failure_ = std::move(failure);
    reader.ended_ = true;
    reader.inbox_->link_.close();
    reader.changed_.notify();
  });
}

Task<int> RestStream::status() {
  StopSource never;
  while (status_ == 0 && !ended_) co_await changed_.wait(never);
  co_return status_;
}

Task<std::optional<std::string>> RestStream::next(StopSource& stop) {
  while (lines_.empty() && !ended_ && !stop.stopping()) co_await changed_.wait(stop);
  if (lines_.empty() || stop.stopping()) co_return std::nullopt;
  auto line = std::move(lines_.front());
  lines_.pop_front();
  inbox_->unread_.fetch_sub(line.size());
  co_return line;
}

Task<> RestStream::joined() {
  StopSource never;
  while (!ended_) co_await changed_.wait(never);
}

std::string RestStream::take_all() {
  std::string all;
  for (const auto& line : lines_) all += line + "\n";
  lines_.clear();
  return all;
}

}  // namespace swage::k8s
