#include "gpu_pool/worker/adapters/resident_tasks.hpp"

#include <algorithm>
#include <utility>

namespace swage::worker {

ResidentTask ResidentTasks::take(const std::string& digest) {
  const auto at = std::ranges::find(tasks_, digest, &ResidentTask::digest);
  if (at == tasks_.end()) {
    ResidentTask fresh;
    fresh.digest = digest;
    return fresh;
  }
  ResidentTask task = std::move(*at);
  tasks_.erase(at);
  return task;
}

void ResidentTasks::put(ResidentTask task) {
  tasks_.push_front(std::move(task));
  if (tasks_.size() > capacity_) tasks_.pop_back();
}

bool ResidentTasks::knows(const std::string& digest) const {
  return std::ranges::any_of(tasks_,
                             [&](const auto& task) { return task.digest == digest && task.facts; });
}

std::vector<std::int64_t> ResidentTasks::pids() const {
  std::vector<std::int64_t> out;
  for (const auto& task : tasks_)
    for (const auto& idle : task.hosts) out.push_back(idle.host.pid);
  return out;
}

}  // namespace swage::worker
