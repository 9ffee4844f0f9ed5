#pragma once

#include <functional>
#include <memory>
#include <string>

#include "controller/api/pod_backend.hpp"
#include "tests/support/task_runner.hpp"

namespace swage::controller {

/// What the pods of one component do in a test.
enum class Play { serves, ends_well, ends_with_3, ignores_the_end };

/// One kind of backend with the pods' programs, for the contract that all kinds keep.
class PodWorld {
 public:
  virtual ~PodWorld() = default;
  virtual PodBackend& backend() = 0;
  /// Ends the backend, as its controller does at last.
  virtual void close() = 0;
  virtual void let(Component component, Play play) = 0;
  /// Takes a pod away without asking the backend.
  virtual void take_away(const std::string& name, const PodEvent& ready) = 0;
};

/// Null: this kind cannot run here, and `why` says so.
using MakeWorld = std::unique_ptr<PodWorld> (*)(test::TaskRunner& run, std::string& why);
std::unique_ptr<PodWorld> make_local_world(test::TaskRunner& run, std::string& why);
std::unique_ptr<PodWorld> make_fake_cluster_world(test::TaskRunner& run, std::string& why);
std::unique_ptr<PodWorld> make_cluster_world(test::TaskRunner& run, std::string& why);

}  // namespace swage::controller
