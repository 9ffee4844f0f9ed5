#include <cpprest/http_client.h>
#include <openssl/ssl.h>

#include <boost/asio/ssl/context.hpp>
#include <charconv>

#include "common/k8s/credentials.hpp"
#include "common/k8s/rest_stream.hpp"
#include "common/k8s/transport.hpp"

namespace swage::k8s {
namespace {

namespace http = web::http;

/// One answer, or why there is none.
struct Answer {
  int status = 0;
  std::string body;
  std::optional<std::chrono::seconds> retry_after;
  std::string failure;
};

std::optional<std::chrono::seconds> retry_after(const http::http_response& response) {
  const auto found = response.headers().find("Retry-After");
  if (found == response.headers().end()) return std::nullopt;
  long value = 0;
  const auto& text = found->second;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  // A date in its place is not what API servers send.
  if (problem != std::errc() || value < 0) return std::nullopt;
  return std::chrono::seconds(std::min(value, 3600L));
}

/// cpprestsdk's texts often name the wrong cause ("Failed to read HTTP status line"): the code says
/// more.
std::string why(const std::exception& error) {
  if (const auto* known = dynamic_cast<const http::http_exception*>(&error);
      known != nullptr && known->error_code().value() != 0)
    return "no answer: " + known->error_code().message();
  return "the connection ended";
}

/// Certificates are read here, once a connection: a replaced file needs nothing else.
void set_certificates(const Config& config, boost::asio::ssl::context& context) {
  namespace ssl = boost::asio::ssl;
  boost::system::error_code problem;  // shows as a failed handshake
  if (const auto authority = config.authority.read(); authority && !authority->empty())
    context.add_certificate_authority(boost::asio::buffer(*authority), problem);
  if (!config.certificate.given()) return;
  const auto certificate = config.certificate.read();
  const auto key = config.key.read();
  if (!certificate || !key) return;
  context.use_certificate_chain(boost::asio::buffer(*certificate), problem);
  context.use_private_key(boost::asio::buffer(*key), ssl::context::pem, problem);
}

http::client::http_client_config client_config(const Config& config,
                                               std::chrono::milliseconds silence) {
  http::client::http_client_config out;
  out.set_timeout(silence);
  out.set_ssl_context_callback(
      [config](boost::asio::ssl::context& context) { set_certificates(config, context); });
  return out;
}

/// Starts one request and completes with its answer, exactly once.
Task<Answer> exchange(http::client::http_client& client, http::http_request request,
                      pplx::cancellation_token token) {
  auto start = [&](auto resume) {
    auto handoff = make_handoff(std::move(resume));
    auto answer = std::make_shared<Answer>();
    client.request(request, token)
        .then([answer](const http::http_response& response) {
          answer->status = response.status_code();
          answer->retry_after = retry_after(response);
          return response.extract_utf8string(true);
        })
        .then([answer, handoff](const pplx::task<std::string>& done) {
          try {
            answer->body = done.get();  // complete already: this does not wait
          } catch (const std::exception& error) {
            answer->failure = why(error);
          }
          handoff->complete(std::move(*answer));
        });
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(Answer)>(
      start, asio::use_awaitable);
}

class RestTransport final : public Transport {
 public:
  RestTransport(Config config, Clock& clock, TransportLimits limits)
      : config_(std::move(config)),
        clock_(clock),
        limits_(limits),
        credentials_(config_.token, config_.token_file),
        client_(make_client()) {}

  Task<Result<std::string, Error>> request(Request request, TimePoint deadline,
                                           StopSource& stop) override;
  Task<Result<bool, Error>> stream(Request request, std::function<bool(std::string)> on_line,
                                   StopSource& stop) override;

 private:
  http::client::http_client make_client() const {
    return {config_.server, client_config(config_, limits_.silence)};
  }
  http::http_request build(const Request& request);
  Task<Answer> send(const Request& request, TimePoint deadline, StopSource& stop);
  Task<Result<bool, Error>> stream_once(const Request& request,
                                        const std::function<bool(std::string)>& on_line,
                                        StopSource& stop);
  Task<bool> enter(TimePoint deadline, StopSource& stop);
  void leave();

  Config config_;
  Clock& clock_;
  TransportLimits limits_;
  Credentials credentials_;
  http::client::http_client client_;
  std::size_t in_flight_ = 0;
  std::list<Event*> waiting_;  // for one of the places in flight, in their order
};

http::http_request RestTransport::build(const Request& request) {
  http::http_request out(request.method);
  out.set_request_uri(web::uri(request.path));
  out.headers().add("Accept", "application/json");
  out.headers().add("User-Agent", "swage");
  if (const auto& token = credentials_.token(clock_.now()); !token.empty())
    out.headers().add("Authorization", "Bearer " + token);
  if (!request.body.empty()) {
    out.set_body(request.body);
    out.headers().set_content_type(request.content_type);
  }
  return out;
}

/// A place among those in flight; false: no time left, or told to stop.
Task<bool> RestTransport::enter(TimePoint deadline, StopSource& stop) {
  if (stop.stopping() || deadline <= clock_.now()) co_return false;
  if (in_flight_ < limits_.in_flight) {
    ++in_flight_;
    co_return true;
  }
  const auto executor = co_await asio::this_coro::executor;
  Event turn(executor);
  const auto at = waiting_.insert(waiting_.end(), &turn);
  StopSource over;
  {
    const auto hook = stop.on_stop([&over] { over.request(StopReason::requested); });
    asio::steady_timer timer(executor, deadline);
    timer.async_wait([&over](const boost::system::error_code& problem) {
      if (!problem) over.request(StopReason::deadline);
    });
    co_await turn.wait(over);
    timer.cancel();
  }
  // leave() takes whom it wakes off the list, and hands its place on.
  const bool mine = std::ranges::find(waiting_, &turn) == waiting_.end();
  if (!mine) waiting_.erase(at);
  co_return mine;
}

void RestTransport::leave() {
  if (waiting_.empty()) {
    --in_flight_;
    return;
  }
  auto* const next = waiting_.front();
  waiting_.pop_front();
  next->notify();
}

Task<Answer> RestTransport::send(const Request& request, TimePoint deadline, StopSource& stop) {
  const auto executor = co_await asio::this_coro::executor;
  const auto cancel = std::make_shared<pplx::cancellation_token_source>();
  const auto timed_out = std::make_shared<bool>(false);
  asio::steady_timer timer(executor, std::min(deadline, clock_.now() + limits_.answer));
  timer.async_wait([cancel, timed_out](const boost::system::error_code& problem) {
    if (problem) return;
    *timed_out = true;
    cancel->cancel();
  });
  const auto hook = stop.on_stop([cancel] { cancel->cancel(); });
  auto answer = co_await exchange(client_, build(request), cancel->get_token());
  timer.cancel();
  if (!answer.failure.empty() && *timed_out) {
    answer.failure = "no answer in time";
    // What is kept open to the same machine leads nowhere either: the next request connects.
    client_ = make_client();
  }
  co_return answer;
}

Task<Result<std::string, Error>> RestTransport::request(Request request, TimePoint deadline,
                                                        StopSource& stop) {
  if (!co_await enter(deadline, stop)) {
    const auto code = stop.stopping() ? Errc::stopped : Errc::transport;
    co_return tl::unexpected(Error{.code = code, .message = "not sent: no time left"});
  }
  auto answer = co_await send(request, deadline, stop);
  if (answer.status == 401 && answer.failure.empty() && credentials_.refused(clock_.now()))
    answer = co_await send(request, deadline, stop);
  leave();
  if (!answer.failure.empty()) {
    const auto code = stop.stopping() ? Errc::stopped : Errc::transport;
    co_return tl::unexpected(Error{.code = code, .message = answer.failure});
  }
  if (answer.status >= 400)
    co_return tl::unexpected(error_from(answer.status, answer.body, answer.retry_after));
  co_return std::move(answer.body);
}

/// Ends a stream that has brought nothing for too long, however its connection looks. Thread: the
/// strand's.
class Watchdog {
 public:
  Watchdog(const asio::any_io_executor& strand, std::shared_ptr<StreamInbox> inbox)
      : timer_(strand), inbox_(std::move(inbox)) {}

  /// From now on, in place of what was said before.
  void expect(std::chrono::milliseconds within, const char* otherwise) {
    timer_.expires_after(within);
    timer_.async_wait(
        [inbox = inbox_, said = said_, otherwise](const boost::system::error_code& problem) {
          if (problem) return;
          *said = otherwise;
          inbox->cancel();
        });
  }
  /// Why it has ended the stream; empty: it has not.
  const std::string& said() const { return *said_; }

 private:
  asio::steady_timer timer_;
  std::shared_ptr<StreamInbox> inbox_;
  std::shared_ptr<std::string> said_ = std::make_shared<std::string>();
};

/// The request of a stream: its own client, so that its silence and its end concern nobody else.
void begin_stream(const std::shared_ptr<http::client::http_client>& client,
                  http::http_request request, const std::shared_ptr<StreamInbox>& inbox) {
  request.set_response_stream(concurrency::streams::ostream(make_stream_buffer(inbox)));
  client->request(request, inbox->token())
      .then([inbox](const http::http_response& response) {
        inbox->headers(response.status_code(), retry_after(response));
        return response.content_ready();
      })
      .then([inbox, client](const pplx::task<http::http_response>& done) {
        std::string failure;
        try {
          done.get();  // complete already: this does not wait
        } catch (const std::exception& error) {
          failure = why(error);
        }
        inbox->finished(std::move(failure));
      });
}

Task<Result<bool, Error>> RestTransport::stream_once(
    const Request& request, const std::function<bool(std::string)>& on_line, StopSource& stop) {
  const auto executor = co_await asio::this_coro::executor;
  RestStream stream(executor, limits_);
  const auto client = std::make_shared<http::client::http_client>(make_client());
  Watchdog watchdog(executor, stream.inbox());
  bool wanted = true;
  {
    const auto hook = stop.on_stop([&stream] { stream.cancel(); });
    watchdog.expect(limits_.answer, "no answer in time");
    begin_stream(client, build(request), stream.inbox());
    const int status = co_await stream.status();
    if (status >= 400) {
      co_await stream.joined();
      co_return tl::unexpected(error_from(status, stream.take_all(), stream.retry_after()));
    }
    while (wanted) {
      watchdog.expect(limits_.silence, "the stream has been silent for too long");
      auto line = co_await stream.next(stop);
      if (!line) break;
      wanted = on_line(std::move(*line));
    }
  }
  if (!wanted) stream.cancel();
  co_await stream.joined();
  if (stop.stopping())
    co_return tl::unexpected(Error{.code = Errc::stopped, .message = "told to stop"});
  const auto& failure = watchdog.said().empty() ? stream.failure() : watchdog.said();
  if (wanted && !failure.empty())
    co_return tl::unexpected(Error{.code = Errc::transport, .message = failure});
  co_return true;
}

Task<Result<bool, Error>> RestTransport::stream(Request request,
                                                std::function<bool(std::string)> on_line,
                                                StopSource& stop) {
  if (stop.stopping())
    co_return tl::unexpected(Error{.code = Errc::stopped, .message = "told to stop"});
  auto ended = co_await stream_once(request, on_line, stop);
  if (!ended && ended.error().status == 401 && credentials_.refused(clock_.now()))
    ended = co_await stream_once(request, on_line, stop);
  co_return ended;
}

}  // namespace

std::unique_ptr<Transport> make_rest_transport(Config config, Clock& clock,
                                               TransportLimits limits) {
  start_http_threads();
  return std::make_unique<RestTransport>(std::move(config), clock, limits);
}

}  // namespace swage::k8s
