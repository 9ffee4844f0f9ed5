#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/descriptor.hpp"
#include "gpu_pool/judge/api/session.hpp"

namespace swage::worker {

/// A host that no judge holds at the moment: its name and its six descriptors.
struct IdleHost {
  judge::ResidentHost host;
  std::vector<Descriptor> descriptors;
};

/// What is kept of one task between evaluations.
struct ResidentTask {
  std::string digest;
  Descriptor facts;  ///< memory files, empty until a judge has learned the task
  Descriptor state;
  std::vector<IdleHost> hosts;
};

/// The tasks that are kept, most recent first; at most `capacity`. Dropping a host ends it, for the
/// zygote kills what nobody holds. Touched on one strand.
class ResidentTasks {
 public:
  explicit ResidentTasks(std::size_t capacity) : capacity_(capacity) {}

  /// Takes a task out, hosts and all; an empty one if it is not known.
  ResidentTask take(const std::string& digest);
  /// Puts a task back as the most recent; the least recent goes if there are too many.
  void put(ResidentTask task);
  bool knows(const std::string& digest) const;
  std::vector<std::int64_t> pids() const;
  void clear() { tasks_.clear(); }

 private:
  std::size_t capacity_;
  std::list<ResidentTask> tasks_;
};

}  // namespace swage::worker
