#pragma once

#include <chrono>
#include <string>
#include <variant>

#include "common/base/time.hpp"
#include "common/k8s/backoff.hpp"
#include "common/k8s/error.hpp"

namespace swage::k8s {

/// Decides how a copy of the API server's objects is kept: list by pages, watch from the list's
/// resourceVersion, list again when the watch cannot go on. Pure: the caller does what next() says
/// and tells what came of it.
/// 1. The first list takes what the server has in memory (resourceVersion "0"); a later one nothing
///    older than what was seen; after "too old" or "ahead" of a list, and when a watch is too old
///    right after such a list: the store itself ("").
/// 2. A page token that has expired may come with one to go on with: the list is then of two
/// moments,
///    which the watch from the first one's resourceVersion mends.
/// 3. A list that is older than what was seen is dropped: another server is behind.
class Reflection {
 public:
  struct List {
    std::string resource_version;
    std::string continue_token;
  };
  struct Watch {
    std::string resource_version;
    std::chrono::seconds
        timeout;  ///< the server ends it then; spread, so that not all return at once
  };
  struct Wait {
    Duration duration;
  };
  using Step = std::variant<List, Watch, Wait>;
  enum class Page {
    more,      ///< keep the items, ask on
    complete,  ///< that was the last
    stale,     ///< drop the items of this list
  };

  /// random: in [0, 1), here and below.
  Step next(double random);
  Page page(const std::string& resource_version, const std::string& continue_token, TimePoint now,
            double random);
  void list_failed(const Error& error, TimePoint now, double random);

  void watch_began(TimePoint now);
  void seen(const std::string& resource_version);  ///< an event or a bookmark
  void watch_ended(TimePoint now, double random);  ///< by the server, in good order
  void watch_failed(const Error& error, TimePoint now, double random);

  /// The newest resourceVersion that is known here.
  const std::string& resource_version() const { return seen_; }
  /// The last list is of two moments.
  bool inconsistent() const { return inconsistent_; }

 private:
  void list_again(std::string resource_version);

  bool watching_ = false;
  std::string from_ = "0";  ///< the list's resourceVersion parameter
  std::string token_;
  std::string listed_;  ///< the resourceVersion of the list under way
  std::string seen_;
  bool inconsistent_ = false;
  bool relisted_ = false;  ///< because a watch was too old, and none has brought anything since
  bool useful_ = false;    ///< this watch has brought something
  TimePoint began_{};
  std::optional<Duration> wait_;
  Backoff backoff_;
};

}  // namespace swage::k8s
