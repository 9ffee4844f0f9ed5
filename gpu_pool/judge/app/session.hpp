#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/descriptor.hpp"
#include "gpu_pool/judge/adapters/host.hpp"
#include "gpu_pool/judge/api/session.hpp"
#include "gpu_pool/judge/app/known_task.hpp"

namespace swage::judge {

/// What a judge starts from.
struct Assignment {
  SessionBegin begin;  ///< with task source and bundle filled in
  Descriptor zygote;
  std::optional<KnownTask> task;
  std::vector<HostParts> residents;
};

/// The judge's end of the conversation with the GPU worker (api/session.hpp). Thread: one.
class Session {
 public:
  explicit Session(Descriptor socket) : socket_(std::move(socket)) {}
  /// Waits for the first packet. Errors: texts for people.
  Result<Assignment, std::string> begin();
  void progress(const std::string& phase, std::uint32_t done, std::uint32_t total);
  void facts(const KnownTask& task);
  void keep(HostParts parts);
  Result<void, std::string> verdict(const std::string& bytes);

 private:
  Descriptor socket_;
};

}  // namespace swage::judge
