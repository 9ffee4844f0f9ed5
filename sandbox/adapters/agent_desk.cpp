#include "sandbox/adapters/agent_desk.hpp"

#include <sys/stat.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/base/json_text.hpp"

namespace swage::sandbox {
namespace {

using Socket = asio::local::stream_protocol::socket;

constexpr std::size_t kMaxQuestion = 256;
constexpr std::size_t kMaxConnections = 8;

std::optional<DeskRequest> request_from(const std::string& line) {
  const auto value = nlohmann::json::parse(line, nullptr, false);
  if (!value.is_object() || !value.contains("ask")) return std::nullopt;
  if (value.at("ask") == "compile") return DeskRequest::compile;
  if (value.at("ask") == "verify") return DeskRequest::verify;
  if (value.at("ask") == "profile") return DeskRequest::profile;
  return std::nullopt;
}

std::string to_line(const Report& report) {
  const nlohmann::json value{{"lines", report.lines}, {"exit", report.exit_code}};
  return json_text(value) + "\n";
}

/// One connection. `stop` closes it.
Task<> serve_one(std::shared_ptr<Socket> socket, AgentDesk::Answer answer, StopSource& stop) {
  const auto hook = stop.on_stop([socket] {
    boost::system::error_code ignored;
    socket->close(ignored);
  });
  if (stop.stopping()) co_return;
  std::string line;
  boost::system::error_code failed;
  const auto size =
      co_await asio::async_read_until(*socket, asio::dynamic_buffer(line, kMaxQuestion), '\n',
                                      asio::redirect_error(asio::use_awaitable, failed));
  const auto request = failed ? std::nullopt : request_from(line.substr(0, size));
  if (!request) co_return;
  const auto report = co_await answer(*request);
  const auto text = to_line(report);
  co_await asio::async_write(*socket, asio::buffer(text),
                             asio::redirect_error(asio::use_awaitable, failed));
}

}  // namespace

Result<std::unique_ptr<AgentDesk>, std::string> AgentDesk::open(asio::any_io_executor strand,
                                                                const std::filesystem::path& path) {
  constexpr std::size_t kMaxSocketPath = 107;
  if (path.string().size() > kMaxSocketPath)
    return tl::unexpected("the socket path " + path.string() +
                          " is longer than 107 bytes; set a shorter root_directory");
  Protocol::acceptor acceptor(strand);
  boost::system::error_code failed;
  acceptor.open(Protocol(), failed);
  if (!failed) acceptor.bind(Protocol::endpoint(path.string()), failed);
  if (!failed) acceptor.listen(64, failed);
  // The directory above is ours alone; inside the container another user connects.
  if (failed || ::chmod(path.c_str(), 0666) != 0)
    return tl::unexpected("cannot listen on " + path.string() + ": " + failed.message());
  return std::unique_ptr<AgentDesk>(new AgentDesk(std::move(strand), std::move(acceptor)));
}

Task<> AgentDesk::serve(Answer answer, StopSource& stop) {
  Gate connections(strand_, stop, kMaxConnections);
  const auto hook = stop.on_stop([this] {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
  });
  asio::steady_timer pause(strand_);
  while (!stop.stopping()) {
    if (connections.running() == kMaxConnections) {
      pause.expires_after(std::chrono::milliseconds(20));
      boost::system::error_code ignored;
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
      continue;
    }
    auto socket = std::make_shared<Socket>(strand_);
    boost::system::error_code failed;
    co_await acceptor_.async_accept(*socket, asio::redirect_error(asio::use_awaitable, failed));
    if (!failed) std::ignore = connections.spawn("desk", serve_one(socket, answer, stop));
  }
  co_await connections.join();
}

}  // namespace swage::sandbox
