#pragma once

#include <memory>
#include <string>

#include "gpu_pool/judge/adapters/device.hpp"
#include "gpu_pool/judge/adapters/host.hpp"
#include "gpu_pool/judge/api/session.hpp"

namespace swage::judge {

/// The processors and the devices that one evaluation uses. Thread: one.
class Machine {
 public:
  /// Errors: the kind of device that is asked for is not here; a sentence for people.
  static Result<std::unique_ptr<Machine>, std::string> make(const SessionBegin& begin);

  Room& room() { return room_; }
  /// Where the kernels run that are judged.
  Device& kernels() { return kernels_ ? *kernels_ : *plain_; }
  /// Where a host's tensors lie: the task's own code runs on the processor always.
  Device& of(Role role) { return role == Role::task || role == Role::reader ? *plain_ : kernels(); }

 private:
  explicit Machine(const SessionBegin& begin) : room_(begin.judge_cores, begin.host_cores) {}

  Room room_;
  std::unique_ptr<Device> plain_;
  std::unique_ptr<Device> kernels_;  // absent: plain_
};

}  // namespace swage::judge
