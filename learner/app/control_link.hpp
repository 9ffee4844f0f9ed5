#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/asio/clock.hpp"
#include "common/asio/event.hpp"
#include "swage/v1/control.pb.h"

namespace swage::learner {

/// The learner's stream to the controller's leader. It connects again for ever: 1 after attaching
/// it sends all accepted ids once; 2 then the status, at each change and every second; 3 commands
/// are handed on as they come. Thread: one strand. Life: run() must have returned before it goes.
class ControlLink {
 public:
  struct Hooks {
    std::function<std::vector<std::string>()> accepted_ids;
    std::function<v1::LearnerStatus()> status;
    std::function<void(const v1::ControllerCommand&)> command;
  };
  ControlLink(asio::any_io_executor strand, Clock& clock, std::string address, std::string token,
              Hooks hooks);

  /// The status changed: send it now.
  void notify() { changed_.notify(); }
  bool attached() const { return attached_; }
  Task<> run(StopSource& stop);

 private:
  Task<> attach(StopSource& stop);

  asio::any_io_executor strand_;
  Clock& clock_;
  std::string address_;
  std::string token_;
  Hooks hooks_;
  Event changed_;
  bool attached_ = false;
};

}  // namespace swage::learner
