#include "common/redis/client.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <utility>

#include "common/base/digest.hpp"

namespace swage {
namespace {

using namespace std::chrono_literals;

constexpr auto kConnectLimit = 3s;

std::string sha1_hex(const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  return to_hex({reinterpret_cast<const char*>(digest.data()), size});
}

}  // namespace

Duration redis_back_off(unsigned failures, double uniform) {
  const auto whole = std::min<Duration>(50ms * (1U << std::min(failures, 8U)), 2s);
  return whole - std::chrono::duration_cast<Duration>(whole * (uniform / 2));
}

RedisScript::RedisScript(std::string source) : text(std::move(source)), sha1(sha1_hex(text)) {}

/// A command on its way, shared by its caller and the queue that it keeps its place in.
struct RedisClient::Call {
  explicit Call(const asio::any_io_executor& strand) : limit(strand) {}
  std::string bytes;
  bool written = false;
  std::optional<RedisReply> reply;
  asio::steady_timer limit;
};

RedisClient::RedisClient(const asio::any_io_executor& strand, RedisConfig config)
    : strand_(strand), config_(std::move(config)), unsent_arrived_(strand), gate_(strand, stop_) {
  std::ignore = gate_.spawn("redis", run());
}

Task<RedisReply> RedisClient::command(std::vector<std::string> arguments, TimePoint deadline) {
  if (stop_.stopping())
    co_return tl::unexpected(RedisError{RedisErrc::unreachable, "shutting down"});
  const auto call = std::make_shared<Call>(strand_);
  call->bytes = redis_command_bytes(arguments);
  unsent_.push_back(call);
  unsent_arrived_.notify();
  call->limit.expires_at(deadline);
  boost::system::error_code woken;
  co_await call->limit.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  if (auto& reply = call->reply) co_return std::move(*reply);
  if (call->written)
    co_return tl::unexpected(RedisError{RedisErrc::unanswered, "no reply in time"});
  std::erase(unsent_, call);
  co_return tl::unexpected(RedisError{RedisErrc::unreachable,
                                      last_failure_.empty() ? "not sent in time" : last_failure_});
}

Task<RedisReply> RedisClient::script(const RedisScript& script, std::vector<std::string> keys,
                                     std::vector<std::string> arguments, TimePoint deadline) {
  std::vector<std::string> words = {"EVALSHA", script.sha1, std::to_string(keys.size())};
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), arguments.begin(), arguments.end());
  auto reply = co_await command(words, deadline);
  const bool missing = !reply && reply.error().code == RedisErrc::refused &&
                       reply.error().message.starts_with("NOSCRIPT");
  if (!missing) co_return reply;
  words[0] = "EVAL";
  words[1] = script.text;
  co_return co_await command(std::move(words), deadline);
}

Task<> RedisClient::shut_down() {
  stop_.request(StopReason::requested);
  fail_all("shutting down");
  co_await gate_.join();
}

Task<> RedisClient::run() {
  std::minstd_rand random{std::random_device{}()};
  unsigned failures = 0;
  while (!stop_.stopping()) {
    const auto link = std::make_shared<RedisLink>(strand_);
    const auto opened =
        co_await link->open(config_, std::chrono::steady_clock::now() + kConnectLimit, stop_);
    if (opened) {
      failures = 0;
      link_ = link;
      last_failure_.clear();
      if (connected_listener_) connected_listener_();
      co_await serve();
      link_.reset();
      fail_all("connection lost");
    } else {
      last_failure_ = opened.error().message;
    }
    if (stop_.stopping()) break;
    const double uniform = std::uniform_real_distribution<>(0, 1)(random);
    asio::steady_timer pause(strand_, redis_back_off(failures++, uniform));
    const auto hook = stop_.on_stop([&pause] { pause.cancel(); });
    boost::system::error_code woken;
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
}

Task<> RedisClient::serve() {
  const auto link = link_;
  StopSource broken;
  const auto hook = stop_.on_stop([&broken] { broken.request(StopReason::requested); });
  const auto closing = broken.on_stop([link] { link->close(); });
  if (stop_.stopping()) co_return;
  Gate loops(strand_, broken);
  std::ignore = loops.spawn("writer", write_loop(broken));
  std::ignore = loops.spawn("reader", read_loop(broken));
  co_await loops.join();
}

Task<> RedisClient::write_loop(StopSource& broken) {
  const auto link = link_;
  while (!broken.stopping()) {
    if (unsent_.empty()) {
      co_await unsent_arrived_.wait(broken);
      continue;
    }
    std::string bytes;
    for (auto& call : unsent_) {
      call->written = true;  // before the write: a part of it may arrive
      bytes += call->bytes;
      call->bytes.clear();
      unanswered_.push_back(std::move(call));
    }
    unsent_.clear();
    const bool ok = co_await link->write(std::move(bytes));
    if (!ok) broken.request(StopReason::fault);
  }
}

Task<> RedisClient::read_loop(StopSource& broken) {
  const auto link = link_;
  while (!broken.stopping()) {
    auto reply = co_await link->read();
    if (!reply || unanswered_.empty()) {  // a reply that nobody asked for: out of step, start anew
      broken.request(StopReason::fault);
      co_return;
    }
    const auto call = std::move(unanswered_.front());
    unanswered_.pop_front();
    if (reply->kind == RedisValue::Kind::error) {
      complete(*call, tl::unexpected(redis_error_from(reply->text)));
    } else {
      complete(*call, std::move(*reply));
    }
  }
}

void RedisClient::complete(Call& call, RedisReply reply) {
  call.reply = std::move(reply);
  call.limit.cancel();
}

void RedisClient::fail_all(const std::string& why) {
  for (auto& call : std::exchange(unsent_, {}))
    complete(*call, tl::unexpected(RedisError{RedisErrc::unreachable, why}));
  for (auto& call : std::exchange(unanswered_, {}))
    complete(*call, tl::unexpected(RedisError{RedisErrc::unanswered, why}));
}

}  // namespace swage
