#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "common/asio/asio.hpp"
#include "common/asio/gate.hpp"
#include "common/asio/stop_source.hpp"
#include "common/base/result.hpp"
#include "sandbox/core/report.hpp"

namespace swage::sandbox {

/// What a script of utils/ may ask for.
enum class DeskRequest { compile, verify, profile };

/// The socket that utils/ connect to from inside the container. One connection is one question:
/// {"ask": "compile" | "verify" | "profile"} and a line end; the answer is {"lines": [...],
/// "exit": n} and a line end. The other side is untrusted: questions of at most 256 bytes, 8
/// connections at once, the others wait in the kernel's queue. Thread: one strand. serve() ends on
/// `stop`; the object goes after that.
class AgentDesk {
 public:
  using Answer = std::function<Task<Report>(DeskRequest)>;

  /// path: at most 107 bytes. Error: cannot be made, with the remedy.
  static Result<std::unique_ptr<AgentDesk>, std::string> open(asio::any_io_executor strand,
                                                              const std::filesystem::path& path);
  Task<> serve(Answer answer, StopSource& stop);

 private:
  using Protocol = asio::local::stream_protocol;
  AgentDesk(asio::any_io_executor strand, Protocol::acceptor acceptor)
      : strand_(std::move(strand)), acceptor_(std::move(acceptor)) {}
  asio::any_io_executor strand_;
  Protocol::acceptor acceptor_;
};

}  // namespace swage::sandbox
