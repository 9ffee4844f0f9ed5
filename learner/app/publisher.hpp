#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/asio/clock.hpp"
#include "common/asio/event.hpp"
#include "common/asio/gate.hpp"
#include "learner/adapters/publication.hpp"
#include "swage/v1/common.pb.h"

namespace swage::learner {

/// Brings the newest weight version to every policy server of the PolicySet, each by Offer and Put
/// of the chunks that it lacks. A server that comes back empty is noticed by an Offer every two
/// seconds, and may Fetch on its own. Thread: one strand. Life: run() must have returned before it
/// goes.
class Publisher {
 public:
  Publisher(asio::any_io_executor strand, Clock& clock, std::string token);

  /// The servers that the controller knows; replaces those known before.
  void set_servers(const v1::PolicySet& set);
  /// From now on this version is offered. Returns when every known server holds it, or after
  /// `patience`: whoever lacks it then gets it as soon as it answers.
  Task<> publish(std::shared_ptr<const Publication> publication, Duration patience,
                 StopSource& stop);
  /// Null before the first.
  std::shared_ptr<const Publication> newest() const { return newest_; }

  /// Feeds all servers until `stop`.
  Task<> run(StopSource& stop);

 private:
  struct Server {
    std::uint64_t held = 0;
  };
  Task<> feed(std::string address, StopSource& stop);
  bool all_hold(std::uint64_t version) const;

  asio::any_io_executor strand_;
  Clock& clock_;
  std::string token_;
  Event changed_;
  std::shared_ptr<const Publication> newest_;
  std::map<std::string, Server> servers_;
  std::set<std::string> fed_;  // addresses that a task feeds
  StopSource feeders_stop_;
  Gate feeders_;
};

}  // namespace swage::learner
