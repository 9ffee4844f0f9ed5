#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "common/asio/asio.hpp"
#include "common/asio/stop_source.hpp"
#include "common/base/result.hpp"

namespace swage::controller {

/// Tells which files appeared in one directory (inotify). Touched on one strand; one reader.
class DirectoryWatch {
 public:
  /// Errors: the system's text.
  static Result<std::unique_ptr<DirectoryWatch>, std::string> open(
      asio::any_io_executor strand, const std::filesystem::path& directory);

  /// Names of files that were renamed in or written and closed since the last call; empty when
  /// `stop` is requested.
  Task<std::vector<std::string>> next(StopSource& stop);

 private:
  DirectoryWatch(asio::any_io_executor strand, int descriptor)
      : descriptor_(std::move(strand), descriptor) {}
  asio::posix::stream_descriptor descriptor_;
};

/// Whether somebody accepts connections on this Unix socket now.
bool accepts_connections(const std::filesystem::path& socket);

}  // namespace swage::controller
