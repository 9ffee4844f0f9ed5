#include "tests/support/fake_api_server.hpp"

#include <sys/socket.h>

#include <array>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace swage::test {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
namespace net = boost::asio;

std::string decoded(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

FakeRequest read_request(const http::request<http::string_body>& from) {
  FakeRequest out;
  out.method = std::string(from.method_string());
  const std::string target(from.target());
  const auto mark = target.find('?');
  out.path = target.substr(0, mark);
  std::string rest = mark == std::string::npos ? "" : target.substr(mark + 1);
  while (!rest.empty()) {
    const auto end = rest.find('&');
    const auto pair = rest.substr(0, end);
    const auto equals = pair.find('=');
    out.query[pair.substr(0, equals)] = decoded(pair.substr(equals + 1));
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
  }
  out.authorization = std::string(from[http::field::authorization]);
  out.content_type = std::string(from[http::field::content_type]);
  out.body = from.body();
  return out;
}

void run(const std::string& command) {
  if (std::system((command + " 2>/dev/null").c_str()) != 0)
    throw std::runtime_error("failed: " + command);
}

}  // namespace

/// Counts one request while it is answered.
class FakeApiServer::Busy {
 public:
  explicit Busy(FakeApiServer& server) : server_(server) {
    const std::lock_guard lock(server.mutex_);
    server.most_at_once_ = std::max(server.most_at_once_.load(), ++server.at_once_);
  }
  ~Busy() { --server_.at_once_; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  FakeApiServer& server_;
};

class FakeApiServer::Connection final : public FakeExchange {
 public:
  Connection(FakeApiServer& server, net::ip::tcp::socket socket, const std::string& certificate,
             const std::string& key)
      : server_(server),
        number_(++server.accepted_),
        tls_(context(certificate, key)),
        stream_(std::move(socket), tls_) {
    thread_ = std::thread([this] { serve(); });
  }
  ~Connection() override { thread_.join(); }

  void abort() {
    const std::lock_guard lock(close_mutex_);
    if (open_) ::shutdown(stream_.next_layer().native_handle(), SHUT_RDWR);
  }
  bool ended() const { return ended_; }

  const FakeRequest& request() const override { return request_; }

  void reply(int status, const std::string& body,
             std::vector<std::pair<std::string, std::string>> headers) override {
    http::response<http::string_body> out(static_cast<http::status>(status), 11);
    out.set(http::field::content_type, "application/json");
    for (const auto& [name, value] : headers) out.set(name, value);
    out.body() = body;
    out.prepare_payload();
    http::write(stream_, out);
  }
  void begin_stream() override {
    http::response<http::empty_body> out(http::status::ok, 11);
    out.set(http::field::content_type, "application/json");
    out.chunked(true);
    http::response_serializer<http::empty_body> head(out);
    http::write_header(stream_, head);
  }
  void chunk(const std::string& bytes) override {
    net::write(stream_, http::make_chunk(net::const_buffer(bytes.data(), bytes.size())));
  }
  void end_stream() override { net::write(stream_, http::make_chunk_last()); }
  void cut_in_chunk(const std::string& bytes) override {
    const std::string half = "ffff\r\n" + bytes;
    net::write(stream_, net::const_buffer(half.data(), half.size()));
    cut();
  }
  void cut() override {
    abort();
    throw boost::system::system_error(net::error::connection_reset);
  }
  void stall() override {
    char byte = 0;
    stream_.read_some(net::mutable_buffer(&byte, 1));  // the client's next word, or its end
  }

 private:
  static net::ssl::context context(const std::string& certificate, const std::string& key) {
    net::ssl::context tls(net::ssl::context::tls_server);
    tls.use_certificate_chain_file(certificate);
    tls.use_private_key_file(key, net::ssl::context::pem);
    return tls;
  }
  /// Takes what comes and says nothing, until the client leaves (which throws).
  void swallow() {
    std::array<char, 4096> bytes{};
    for (;;) stream_.next_layer().read_some(net::buffer(bytes));
  }
  void serve() {
    try {
      if (server_.mute_) swallow();
      stream_.handshake(net::ssl::stream_base::server);
      beast::flat_buffer buffer;
      while (!server_.stopping_) {
        http::request<http::string_body> message;
        http::read(stream_, buffer, message);
        if (number_ <= server_.frozen_) swallow();
        request_ = read_request(message);
        const Busy busy(server_);
        server_.script_for(request_)(*this);
        if (!message.keep_alive()) break;
      }
    } catch (const boost::system::system_error&) {
      // The client has gone, or a script has ended the connection.
    }
    const std::lock_guard lock(close_mutex_);
    open_ = false;
    boost::system::error_code ignored;
    stream_.next_layer().close(ignored);
    --server_.open_;
    ended_ = true;
  }

  FakeApiServer& server_;
  const int number_;  ///< of the connections in their order
  net::ssl::context tls_;
  net::ssl::stream<net::ip::tcp::socket> stream_;
  FakeRequest request_;
  std::mutex close_mutex_;
  bool open_ = true;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

FakeApiServer::FakeApiServer() : acceptor_(context_) {
  make_certificates();
  listen();
  acceptor_thread_ = std::thread([this] { accept_loop(); });
}

FakeApiServer::~FakeApiServer() { end(); }

void FakeApiServer::end() {
  if (!acceptor_thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (listens_) ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
  }
  moved_.notify_all();
  acceptor_thread_.join();
  drop_connections();
  connections_.clear();
}

void FakeApiServer::make_certificates() {
  ++generation_;
  const auto base = directory_.path().string() + "/";
  const auto name = std::to_string(generation_);
  const std::string key = " -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes ";
  run("openssl req -x509 -days 2" + key + "-subj /CN=fake-" + name + " -keyout " + base +
      "ca.key -out " + base + "ca.new");
  run("openssl req -x509 -days 2" + key + "-subj /CN=127.0.0.1 -CA " + base + "ca.new -CAkey " +
      base + "ca.key -addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=CA:FALSE" +
      " -keyout " + base + name + ".key -out " + base + name + ".crt");
  std::filesystem::rename(base + "ca.new", base + "ca.crt");
}

void FakeApiServer::listen() {
  acceptor_.open(net::ip::tcp::v4());
  acceptor_.set_option(net::ip::tcp::acceptor::reuse_address(true));
  acceptor_.bind({net::ip::address_v4::loopback(), port_});
  acceptor_.listen();
  port_ = acceptor_.local_endpoint().port();
  listens_ = true;
}

void FakeApiServer::leave() {
  std::unique_lock lock(mutex_);
  away_ = true;
  ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
  moved_.wait(lock, [this] { return !listens_; });
}

void FakeApiServer::come_back() {
  std::unique_lock lock(mutex_);
  away_ = false;
  moved_.notify_all();
  moved_.wait(lock, [this] { return listens_; });
}

/// The acceptor's thread, when an accept has failed: perhaps because of leave().
void FakeApiServer::wait_outside() {
  std::unique_lock lock(mutex_);
  if (!away_) return;
  acceptor_.close();
  listens_ = false;
  moved_.notify_all();
  moved_.wait(lock, [this] { return !away_ || stopping_; });
  if (stopping_) return;
  listen();
  moved_.notify_all();
}

void FakeApiServer::accept_loop() {
  while (!stopping_) {
    boost::system::error_code problem;
    net::ip::tcp::socket socket(context_);
    acceptor_.accept(socket, problem);
    if (problem) {
      wait_outside();
      continue;
    }
    const std::lock_guard lock(mutex_);
    connections_.remove_if([](const auto& connection) { return connection->ended(); });
    ++open_;
    const auto base = directory_.path().string() + "/" + std::to_string(generation_);
    connections_.push_back(
        std::make_shared<Connection>(*this, std::move(socket), base + ".crt", base + ".key"));
  }
}

k8s::Config FakeApiServer::config() const {
  k8s::Config out;
  out.server = "https://127.0.0.1:" + std::to_string(port_);
  out.authority.file = directory_.path() / "ca.crt";
  out.token = "good";
  return out;
}

void FakeApiServer::on(const std::string& method, const std::string& path, Script script) {
  const std::lock_guard lock(mutex_);
  scripts_[method + " " + path].push_back(std::move(script));
}

FakeApiServer::Script FakeApiServer::script_for(const FakeRequest& request) {
  const std::lock_guard lock(mutex_);
  requests_.push_back(request);
  const auto found = scripts_.find(request.method + " " + request.path);
  if (found == scripts_.end() || found->second.empty()) return refuse(404, "NotFound");
  if (found->second.size() == 1) return found->second.front();
  auto script = std::move(found->second.front());
  found->second.pop_front();
  return script;
}

FakeApiServer::Script FakeApiServer::refuse(
    int status, const std::string& reason,
    std::vector<std::pair<std::string, std::string>> headers) {
  const nlohmann::json body{{"kind", "Status"},    {"apiVersion", "v1"},
                            {"status", "Failure"}, {"code", status},
                            {"reason", reason},    {"message", "refused by the fake: " + reason}};
  return [status, text = body.dump(), headers = std::move(headers)](FakeExchange& exchange) {
    exchange.reply(status, text, headers);
  };
}

FakeApiServer::Script FakeApiServer::answer(const std::string& body, int status) {
  return [body, status](FakeExchange& exchange) { exchange.reply(status, body); };
}

void FakeApiServer::drop_connections() {
  const std::lock_guard lock(mutex_);
  for (const auto& connection : connections_) connection->abort();
}

void FakeApiServer::rotate() {
  {
    const std::lock_guard lock(mutex_);
    make_certificates();
  }
  drop_connections();
}

std::vector<FakeRequest> FakeApiServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

}  // namespace swage::test
