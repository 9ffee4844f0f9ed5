#pragma once

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace swage::test {

/// Passes TCP connections on to a port of 127.0.0.1 until freeze(): from then on nothing is passed
/// on and nothing is closed, as when a node is gone, and new connections are accepted and lead
/// nowhere. Thread: one of its own, which the destructor joins.
class FreezingProxy {
 public:
  explicit FreezingProxy(int port)
      : port_(static_cast<unsigned short>(port)),
        acceptor_(context_, {Address::loopback(), 0}),
        address_("127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port())) {
    accept();
    thread_ = std::thread([this] { context_.run(); });
  }
  ~FreezingProxy() {
    context_.stop();
    thread_.join();
  }
  FreezingProxy(const FreezingProxy&) = delete;
  FreezingProxy& operator=(const FreezingProxy&) = delete;

  const std::string& address() const { return address_; }
  void freeze() { frozen_ = true; }
  int accepted() const { return accepted_; }

 private:
  using Address = boost::asio::ip::address_v4;
  using Socket = boost::asio::ip::tcp::socket;
  struct Pair {
    explicit Pair(boost::asio::io_context& context) : near(context), far(context) {}
    Socket near, far;
    std::array<char, 16384> up{}, down{};
  };

  void accept() {
    auto pair = std::make_shared<Pair>(context_);
    acceptor_.async_accept(pair->near, [this, pair](const boost::system::error_code& problem) {
      if (problem) return;
      ++accepted_;
      connect(pair);
      accept();
    });
  }
  void connect(const std::shared_ptr<Pair>& pair) {
    if (frozen_) return hold(pair);
    pair->far.async_connect({Address::loopback(), port_},
                            [this, pair](const boost::system::error_code& problem) {
                              if (problem) return;
                              pump(pair, pair->near, pair->far, pair->up);
                              pump(pair, pair->far, pair->near, pair->down);
                            });
  }
  void pump(std::shared_ptr<Pair> pair, Socket& from, Socket& to, std::array<char, 16384>& buffer) {
    from.async_read_some(boost::asio::buffer(buffer),
                         [this, pair, &from, &to, &buffer](const boost::system::error_code& problem,
                                                           std::size_t size) {
                           if (frozen_) return hold(pair);
                           boost::system::error_code ignored;
                           if (problem) {
                             to.shutdown(Socket::shutdown_both, ignored);
                             return;
                           }
                           boost::asio::write(to, boost::asio::buffer(buffer, size), ignored);
                           pump(pair, from, to, buffer);
                         });
  }
  void hold(std::shared_ptr<Pair> pair) { held_.push_back(std::move(pair)); }

  unsigned short port_;
  boost::asio::io_context context_{1};
  boost::asio::ip::tcp::acceptor acceptor_;
  std::string address_;
  std::vector<std::shared_ptr<Pair>> held_;  // open until the end; the thread's
  std::atomic<bool> frozen_ = false;
  std::atomic<int> accepted_ = 0;
  std::thread thread_;
};

}  // namespace swage::test
