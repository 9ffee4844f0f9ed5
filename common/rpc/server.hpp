#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/asio/asio.hpp"
#include "common/asio/gate.hpp"
#include "common/asio/stop_source.hpp"
#include "common/base/check.hpp"
#include "common/rpc/client.hpp"
#include "common/rpc/completion.hpp"
#include "common/rpc/error.hpp"
#include "common/rpc/keepalive.hpp"
#include "common/rpc/valid_text.hpp"

namespace swage {

/// Whether the call carries `authorization: Bearer <token>`. An empty token lets everybody in.
bool authorised(const grpc::CallbackServerContext& context, const std::string& token);

/// A running gRPC server. Stop it before the services it serves go.
class RpcServer {
 public:
  /// address: `unix:/path` or `host:port` (port 0: see port()). Errors: the address cannot be
  /// bound. keepalive: clients' pings are allowed by it, and must not be more frequent.
  static Result<std::unique_ptr<RpcServer>, RpcError> start(
      const std::string& address, const std::vector<grpc::Service*>& services,
      const Keepalive& keepalive = {});
  ~RpcServer();
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  /// Lets calls finish until `grace` has passed, then cancels them; resumes the caller when the
  /// last reactor is gone. The strands of the handlers must keep running meanwhile.
  Task<> shut_down(Duration grace);
  int port() const { return port_; }

 private:
  RpcServer(std::unique_ptr<grpc::Server> server, int port)
      : server_(std::move(server)), port_(port) {}
  std::unique_ptr<grpc::Server> server_;
  int port_;
};

/// Where the handlers of a service run: their strand, the gate that owns them, the token that
/// callers must show. All of it outlives the RpcServer.
struct ServiceHome {
  asio::any_io_executor strand;
  Gate& gate;  ///< touched on `strand` only
  std::string token;
};

/// A reply, or a status that is not OK.
template <class Reply>
using ReplyOr = Result<Reply, RpcError>;

/// Serves one unary call by a coroutine on `home.strand`. Used in a CallbackService's override:
///   return serve_unary<Reply>(home_, context, reply, [this, request] { return echo(*request); });
/// `handler` is a plain function that makes the task; request and reply live until the call's end.
template <class Reply, class Handler>
grpc::ServerUnaryReactor* serve_unary(const ServiceHome& home, grpc::CallbackServerContext* context,
                                      Reply* reply, Handler handler) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  if (!authorised(*context, home.token)) {
    reactor->Finish({grpc::StatusCode::UNAUTHENTICATED, "missing or wrong bearer token"});
    return reactor;
  }
  struct Run {
    static Task<> unary(Task<ReplyOr<Reply>> task, Reply* out, grpc::ServerUnaryReactor* to) {
      grpc::Status status;
      try {
        auto result = co_await std::move(task);
        if (result) {
          make_text_valid(*result);
          *out = std::move(*result);
        } else {
          status = {result.error().code, result.error().message};
        }
      } catch (const std::exception& e) {
        status = {grpc::StatusCode::INTERNAL, e.what()};
      }
      to->Finish(status);
    }
  };
  asio::post(home.strand,
             [&gate = home.gate, reply, reactor, handler = std::move(handler)]() mutable {
               if (!gate.spawn("rpc", Run::unary(handler(), reply, reactor)))
                 reactor->Finish({grpc::StatusCode::UNAVAILABLE, "shutting down"});
             });
  return reactor;
}

namespace rpc_detail {

/// Runs a function once when the call is cancelled, or at once if it already was. Thread-safe.
class CancelLatch {
 public:
  void set() {
    std::function<void()> fn;
    {
      const std::lock_guard lock(mutex_);
      cancelled_ = true;
      fn = std::exchange(fn_, nullptr);
    }
    if (fn) fn();
  }
  void on_cancel(std::function<void()> fn) {
    {
      const std::lock_guard lock(mutex_);
      if (!cancelled_) {
        fn_ = std::move(fn);
        return;
      }
    }
    fn();
  }

 private:
  std::mutex mutex_;
  bool cancelled_ = false;
  std::function<void()> fn_;
};

template <class In, class Out>
class ServerBidi final : public grpc::ServerBidiReactor<In, Out> {
 public:
  /// After end() no operation may start: the reactor may be gone from gRPC's view at any time.
  bool ended() const { return ended_; }
  void OnReadDone(bool ok) override { completions.complete(completions.read, ok); }
  void OnWriteDone(bool ok) override { completions.complete(completions.write, ok); }
  void OnCancel() override { cancel.set(); }
  void OnDone() override { const auto self = std::move(self_); }
  void hold(std::shared_ptr<ServerBidi> self) { self_ = std::move(self); }
  /// Finishes the call; only the first counts. Pending operations complete with nothing.
  void end(const grpc::Status& status) {
    if (!ended_.exchange(true)) this->Finish(status);
  }

  Completions completions;
  CancelLatch cancel;
  In incoming;
  Out outgoing;

 private:
  std::atomic<bool> ended_ = false;
  std::shared_ptr<ServerBidi> self_;
};

template <class Out>
class ServerWrite final : public grpc::ServerWriteReactor<Out> {
 public:
  /// After end() no operation may start: the reactor may be gone from gRPC's view at any time.
  bool ended() const { return ended_; }
  void OnWriteDone(bool ok) override { completions.complete(completions.write, ok); }
  void OnCancel() override { cancel.set(); }
  void OnDone() override { const auto self = std::move(self_); }
  void hold(std::shared_ptr<ServerWrite> self) { self_ = std::move(self); }
  /// Finishes the call; only the first counts. Pending operations complete with nothing.
  void end(const grpc::Status& status) {
    if (!ended_.exchange(true)) this->Finish(status);
  }

  Completions completions;
  CancelLatch cancel;
  Out outgoing;

 private:
  std::atomic<bool> ended_ = false;
  std::shared_ptr<ServerWrite> self_;
};

}  // namespace rpc_detail

/// The server's end of a bidirectional stream, handed to its handler. One read and one write at a
/// time. `stop` is requested (on the handler's strand) when the client goes or cancels.
template <class In, class Out>
class BidiStream {
 public:
  explicit BidiStream(std::shared_ptr<rpc_detail::ServerBidi<In, Out>> reactor)
      : reactor_(std::move(reactor)) {}
  /// Nothing: the client has half-closed or gone.
  Task<std::optional<In>> read() {
    const auto reactor = reactor_;
    if (reactor->ended()) co_return std::nullopt;
    const bool ok = co_await reactor->completions.run(
        reactor->completions.read, [&] { reactor->StartRead(&reactor->incoming); });
    if (!ok) co_return std::nullopt;
    co_return std::move(reactor->incoming);
  }
  /// False: the client has gone.
  Task<bool> write(Out message) {
    const auto reactor = reactor_;
    if (reactor->ended()) co_return false;
    make_text_valid(message);
    reactor->outgoing = std::move(message);
    co_return co_await reactor->completions.run(reactor->completions.write,
                                                [&] { reactor->StartWrite(&reactor->outgoing); });
  }
  /// Ends the call before the handler returns, so that a handler with a pending read can finish;
  /// what it returns is then not looked at.
  void end(const grpc::Status& status) { reactor_->end(status); }

 private:
  std::shared_ptr<rpc_detail::ServerBidi<In, Out>> reactor_;
};

/// The server's end of a server stream.
template <class Out>
class WriteStream {
 public:
  explicit WriteStream(std::shared_ptr<rpc_detail::ServerWrite<Out>> reactor)
      : reactor_(std::move(reactor)) {}
  Task<bool> write(Out message) {
    const auto reactor = reactor_;
    if (reactor->ended()) co_return false;
    make_text_valid(message);
    reactor->outgoing = std::move(message);
    co_return co_await reactor->completions.run(reactor->completions.write,
                                                [&] { reactor->StartWrite(&reactor->outgoing); });
  }

 private:
  std::shared_ptr<rpc_detail::ServerWrite<Out>> reactor_;
};

namespace rpc_detail {

/// Runs a stream's handler to its end and finishes the call with what it returns.
template <class Stream, class Reactor, class Handler>
Task<> run_stream(std::shared_ptr<Reactor> reactor, std::shared_ptr<StopSource> gone,
                  Handler handler) {
  grpc::Status status;
  try {
    status = co_await handler(Stream(reactor), *gone);
  } catch (const std::exception& e) {
    status = {grpc::StatusCode::INTERNAL, e.what()};
  }
  reactor->end(status);
}

template <class Stream, class Reactor, class Handler>
Reactor* serve_stream(const ServiceHome& home, grpc::CallbackServerContext* context,
                      Handler handler) {
  auto reactor = std::make_shared<Reactor>();
  reactor->hold(reactor);
  if (!authorised(*context, home.token)) {
    reactor->Finish({grpc::StatusCode::UNAUTHENTICATED, "missing or wrong bearer token"});
    return reactor.get();
  }
  auto gone = std::make_shared<StopSource>();
  reactor->cancel.on_cancel([gone, strand = home.strand] {
    asio::post(strand, [gone] { gone->request(StopReason::requested); });
  });
  asio::post(home.strand,
             [&gate = home.gate, reactor, gone, handler = std::move(handler)]() mutable {
               if (!gate.spawn("stream", run_stream<Stream>(reactor, gone, std::move(handler))))
                 reactor->Finish({grpc::StatusCode::UNAVAILABLE, "shutting down"});
             });
  return reactor.get();
}

}  // namespace rpc_detail

/// Serves a bidirectional stream by a coroutine on `home.strand`:
///   return serve_bidi<In, Out>(home_, context, [this](BidiStream<In, Out> s, StopSource& gone) {
///     return work(std::move(s), gone); });
/// The handler returns Task<grpc::Status>; it may keep using `gone` until it ends.
template <class In, class Out, class Handler>
grpc::ServerBidiReactor<In, Out>* serve_bidi(const ServiceHome& home,
                                             grpc::CallbackServerContext* context,
                                             Handler handler) {
  return rpc_detail::serve_stream<BidiStream<In, Out>, rpc_detail::ServerBidi<In, Out>>(
      home, context, std::move(handler));
}

/// Serves a server stream. The request lives until the call's end.
template <class Out, class Handler>
grpc::ServerWriteReactor<Out>* serve_write(const ServiceHome& home,
                                           grpc::CallbackServerContext* context, Handler handler) {
  return rpc_detail::serve_stream<WriteStream<Out>, rpc_detail::ServerWrite<Out>>(
      home, context, std::move(handler));
}

}  // namespace swage
