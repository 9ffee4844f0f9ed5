#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "common/asio/stop_source.hpp"
#include "common/base/time.hpp"
#include "common/rpc/completion.hpp"
#include "common/rpc/error.hpp"
#include "common/rpc/valid_text.hpp"

namespace swage {

/// How a call is made. Every call has a finite deadline; long streams use kLongStream.
struct CallOptions {
  TimePoint deadline;
  std::string token;  ///< sent as `authorization: Bearer …`; empty: nothing is sent
};

/// For streams that live as long as their owner: a year, so that there is always a deadline.
inline TimePoint long_stream_deadline() {
  return std::chrono::steady_clock::now() + std::chrono::hours(24 * 365);
}

inline void prepare(grpc::ClientContext& context, const CallOptions& options) {
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::duration_cast<std::chrono::system_clock::duration>(
                           options.deadline - std::chrono::steady_clock::now()));
  if (!options.token.empty()) context.AddMetadata("authorization", "Bearer " + options.token);
}

template <class AsyncStub, class Request, class Reply>
using UnaryMethod = void (AsyncStub::*)(grpc::ClientContext*, const Request*, Reply*,
                                        std::function<void(grpc::Status)>);

/// One unary call. Asking `stop` cancels it; the server may have acted all the same.
/// stub: `*stub->async()`; method: `&v1::X::Stub::async::Y`. Awaited on the strand that owns
/// `stop`.
template <class AsyncStub, class Request, class Reply>
Task<Result<Reply, RpcError>> unary_call(AsyncStub& stub,
                                         UnaryMethod<AsyncStub, Request, Reply> method,
                                         Request request, CallOptions options, StopSource& stop) {
  if (stop.stopping()) co_return tl::unexpected(RpcError{grpc::StatusCode::CANCELLED, "stopping"});
  make_text_valid(request);
  grpc::ClientContext context;  // with request and reply in this frame, which gRPC's callback owns
  prepare(context, options);
  const auto hook = stop.on_stop([&context] { context.TryCancel(); });
  Reply reply;
  auto start = [&](auto done) {
    (stub.*method)(&context, &request, &reply,
                   [done](grpc::Status status) { done(std::move(status)); });
  };
  const auto status = co_await rpc_detail::await_completion<grpc::Status>(start);
  if (!status.ok()) co_return tl::unexpected(RpcError{status.error_code(), status.error_message()});
  co_return reply;
}

namespace rpc_detail {

/// What the client's stream reactors share: one read, one write and one end in flight.
class Completions {
 public:
  template <class Start>
  Task<bool> run(std::function<void(bool)>& slot, Start start) {
    auto begin = [&](auto done) {
      {
        const std::lock_guard lock(mutex_);
        slot = done;
      }
      start();
    };
    co_return co_await await_completion<bool>(begin);
  }
  void complete(std::function<void(bool)>& slot, bool ok) {
    std::function<void(bool)> done;
    {
      const std::lock_guard lock(mutex_);
      done = std::exchange(slot, nullptr);
    }
    if (done) done(ok);
  }
  std::function<void(bool)> read, write;

 private:
  std::mutex mutex_;
};

/// The end of a call: a latch that one coroutine may wait for.
class EndLatch {
 public:
  void set(grpc::Status status) {
    std::function<void(grpc::Status)> done;
    {
      const std::lock_guard lock(mutex_);
      status_ = status;
      done = std::exchange(waiter_, nullptr);
    }
    if (done) done(std::move(status));
  }
  Task<grpc::Status> wait() {
    auto begin = [this](auto done) {
      std::optional<grpc::Status> now;
      {
        const std::lock_guard lock(mutex_);
        if (status_) {
          now = status_;
        } else {
          waiter_ = done;
        }
      }
      if (now) done(std::move(*now));
    };
    co_return co_await await_completion<grpc::Status>(begin);
  }

 private:
  std::mutex mutex_;
  std::optional<grpc::Status> status_;
  std::function<void(grpc::Status)> waiter_;
};

template <class Out, class In>
class BidiReactor final : public grpc::ClientBidiReactor<Out, In> {
 public:
  void begin(std::shared_ptr<BidiReactor> self) {
    self_ = std::move(self);
    this->AddHold();  // operations start outside reactions
    this->StartCall();
  }
  void OnReadDone(bool ok) override { completions.complete(completions.read, ok); }
  void OnWriteDone(bool ok) override { completions.complete(completions.write, ok); }
  void OnWritesDoneDone(bool ok) override { completions.complete(completions.write, ok); }
  void OnDone(const grpc::Status& status) override {
    const auto self = std::move(self_);  // the last owner may be this one
    end.set(status);
  }

  grpc::ClientContext context;
  Completions completions;
  EndLatch end;
  In incoming;
  Out outgoing;

 private:
  std::shared_ptr<BidiReactor> self_;
};

template <class In>
class ReadReactor final : public grpc::ClientReadReactor<In> {
 public:
  void begin(std::shared_ptr<ReadReactor> self) {
    self_ = std::move(self);
    this->AddHold();
    this->StartCall();
  }
  void OnReadDone(bool ok) override { completions.complete(completions.read, ok); }
  void OnDone(const grpc::Status& status) override {
    const auto self = std::move(self_);
    end.set(status);
  }

  grpc::ClientContext context;
  Completions completions;
  EndLatch end;
  In incoming;

 private:
  std::shared_ptr<ReadReactor> self_;
};

/// Owns a reactor's hold: the call is cancelled and let go when the handle goes unfinished.
template <class Reactor>
class CallHandle {
 public:
  CallHandle() = default;
  explicit CallHandle(std::shared_ptr<Reactor> reactor) : reactor_(std::move(reactor)) {}
  CallHandle(CallHandle&&) noexcept = default;
  CallHandle& operator=(CallHandle&& other) noexcept {
    if (this != &other) {
      abandon();
      reactor_ = std::move(other.reactor_);
    }
    return *this;
  }
  ~CallHandle() { abandon(); }
  Reactor& operator*() const { return *reactor_; }
  Reactor* operator->() const { return reactor_.get(); }
  explicit operator bool() const { return reactor_ != nullptr; }
  std::shared_ptr<Reactor> shared() const { return reactor_; }
  std::shared_ptr<Reactor> release() { return std::move(reactor_); }

 private:
  void abandon() {
    if (const auto reactor = std::move(reactor_)) {
      reactor->context.TryCancel();
      reactor->RemoveHold();
    }
  }
  std::shared_ptr<Reactor> reactor_;
};

}  // namespace rpc_detail

/// The client's end of a bidirectional stream. One read and one write at a time (they may overlap
/// each other). Not thread-safe: one strand, except cancel(). finish() must be awaited last, with
/// no read or write in flight; a stream dropped before that is cancelled.
template <class Out, class In>
class BidiCall {
 public:
  BidiCall() = default;

  /// start: e.g. `[&](auto* context, auto* reactor) { stub->async()->Work(context, reactor); }`
  template <class Start>
  static BidiCall open(CallOptions options, Start start) {
    auto reactor = std::make_shared<Reactor>();
    prepare(reactor->context, options);
    start(&reactor->context, reactor.get());
    reactor->begin(reactor);
    BidiCall call;
    call.reactor_ = rpc_detail::CallHandle<Reactor>(std::move(reactor));
    return call;
  }

  /// The next message, or nothing when the stream has ended or broken: then finish() says why.
  Task<std::optional<In>> read() {
    const auto reactor = reactor_.shared();
    const bool ok = co_await reactor->completions.run(
        reactor->completions.read, [&] { reactor->StartRead(&reactor->incoming); });
    if (!ok) co_return std::nullopt;
    co_return std::move(reactor->incoming);
  }
  /// False: the stream has broken.
  Task<bool> write(Out message) {
    const auto reactor = reactor_.shared();
    make_text_valid(message);
    reactor->outgoing = std::move(message);
    co_return co_await reactor->completions.run(reactor->completions.write,
                                                [&] { reactor->StartWrite(&reactor->outgoing); });
  }
  /// Half-closes: no more writes.
  Task<bool> writes_done() {
    const auto reactor = reactor_.shared();
    co_return co_await reactor->completions.run(reactor->completions.write,
                                                [&] { reactor->StartWritesDone(); });
  }
  /// Ends the call early; pending reads and writes complete with nothing. Thread-safe.
  void cancel() { reactor_->context.TryCancel(); }

  /// Waits for the call's end and returns its status.
  Task<grpc::Status> finish() {
    const auto reactor = reactor_.release();
    reactor->RemoveHold();
    co_return co_await reactor->end.wait();
  }
  explicit operator bool() const { return static_cast<bool>(reactor_); }

 private:
  using Reactor = rpc_detail::BidiReactor<Out, In>;
  rpc_detail::CallHandle<Reactor> reactor_;
};

/// The client's end of a server stream: as BidiCall, reading only.
template <class In>
class ReadCall {
 public:
  ReadCall() = default;

  /// start: e.g. `[&](auto* context, auto* reactor) { stub->async()->Fetch(context, &req, reactor);
  /// }` The request must live until finish() has returned.
  template <class Start>
  static ReadCall open(CallOptions options, Start start) {
    auto reactor = std::make_shared<Reactor>();
    prepare(reactor->context, options);
    start(&reactor->context, reactor.get());
    reactor->begin(reactor);
    ReadCall call;
    call.reactor_ = rpc_detail::CallHandle<Reactor>(std::move(reactor));
    return call;
  }
  Task<std::optional<In>> read() {
    const auto reactor = reactor_.shared();
    const bool ok = co_await reactor->completions.run(
        reactor->completions.read, [&] { reactor->StartRead(&reactor->incoming); });
    if (!ok) co_return std::nullopt;
    co_return std::move(reactor->incoming);
  }
  void cancel() { reactor_->context.TryCancel(); }
  Task<grpc::Status> finish() {
    const auto reactor = reactor_.release();
    reactor->RemoveHold();
    co_return co_await reactor->end.wait();
  }
  explicit operator bool() const { return static_cast<bool>(reactor_); }

 private:
  using Reactor = rpc_detail::ReadReactor<In>;
  rpc_detail::CallHandle<Reactor> reactor_;
};

}  // namespace swage
