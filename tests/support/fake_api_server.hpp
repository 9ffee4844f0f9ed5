#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/k8s/config.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::test {

/// One request as the server saw it.
struct FakeRequest {
  std::string method;
  std::string path;
  std::map<std::string, std::string> query;  ///< decoded
  std::string authorization;
  std::string content_type;
  std::string body;
};

/// How a script answers one request. Called on the connection's thread. What fails because the
/// client has gone ends the connection.
class FakeExchange {
 public:
  virtual ~FakeExchange() = default;
  virtual const FakeRequest& request() const = 0;
  virtual void reply(int status, const std::string& body,
                     std::vector<std::pair<std::string, std::string>> headers = {}) = 0;
  /// A chunked answer: begin, chunks of any bytes, end; or cut() or stall() in its place.
  virtual void begin_stream() = 0;
  virtual void chunk(const std::string& bytes) = 0;
  virtual void end_stream() = 0;
  /// A chunk that promises more than it brings, then the end of the connection.
  virtual void cut_in_chunk(const std::string& bytes) = 0;
  /// The connection ends without a word.
  virtual void cut() = 0;
  /// Says nothing more until the client leaves or the server stops.
  virtual void stall() = 0;
};

/// An API server for faults: each method and path has a list of scripts, taken in their order, the
/// last for ever. Real TLS on a port of 127.0.0.1, a certificate authority of its own that rotate()
/// replaces. Threads: one for each connection, joined by the destructor.
class FakeApiServer {
 public:
  using Script = std::function<void(FakeExchange&)>;

  FakeApiServer();
  ~FakeApiServer();
  FakeApiServer(const FakeApiServer&) = delete;
  FakeApiServer& operator=(const FakeApiServer&) = delete;

  /// With the authority as a file, so that it can be rotated; token "good".
  k8s::Config config() const;
  /// An answer for one request; the last of a path stays.
  void on(const std::string& method, const std::string& path, Script script);
  /// A Status object with this code.
  static Script refuse(int status, const std::string& reason = "",
                       std::vector<std::pair<std::string, std::string>> headers = {});
  static Script answer(const std::string& body, int status = 200);

  /// Ends every connection and joins every thread: no script runs after it. For owners of what
  /// scripts refer to and that goes before the server does. The destructor does it too.
  void end();

  /// Another authority and certificate, and the end of every connection.
  void rotate();
  /// Ends every connection; new ones are taken.
  void drop_connections();
  /// The connections that exist stay open and say nothing more; new ones are served.
  void freeze_connections() { frozen_ = accepted_.load(); }
  /// Nobody listens: connections are refused, those that exist stay. Returns when it is so.
  void leave();
  /// Listens again, on the same port.
  void come_back();
  /// New connections are taken and nothing is said on them, not even the handshake.
  void mute(bool on) { mute_ = on; }

  std::vector<FakeRequest> requests() const;
  /// Requests that were being answered at the same time, at most.
  int most_at_once() const { return most_at_once_; }
  int open_connections() const { return open_; }

 private:
  class Busy;
  class Connection;
  void make_certificates();
  void listen();
  void accept_loop();
  void wait_outside();
  Script script_for(const FakeRequest& request);

  TempDirectory directory_;
  boost::asio::io_context context_;
  boost::asio::ip::tcp::acceptor acceptor_;
  unsigned short port_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, std::deque<Script>> scripts_;
  std::vector<FakeRequest> requests_;
  std::list<std::shared_ptr<Connection>> connections_;
  std::condition_variable moved_;
  bool listens_ = false, away_ = false;  // is so, shall be so
  std::atomic<bool> stopping_ = false, mute_ = false;
  std::atomic<int> accepted_ = 0, frozen_ = 0, open_ = 0, at_once_ = 0, most_at_once_ = 0;
  int generation_ = 0;
  std::thread acceptor_thread_;
};

}  // namespace swage::test
