#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpu_pool/judge/adapters/host.hpp"
#include "gpu_pool/judge/adapters/verdict_codec.hpp"
#include "gpu_pool/judge/adapters/zygote_client.hpp"
#include "gpu_pool/judge/app/inputs.hpp"
#include "gpu_pool/judge/app/known_task.hpp"
#include "gpu_pool/judge/app/machine.hpp"
#include "gpu_pool/judge/app/plan.hpp"

namespace swage::judge {

/// Where and how the hosts of one evaluation are made.
struct ArmSettings {
  std::string scratch;
  std::vector<int> host_cores;
  std::uint64_t memory_bytes = 0;
  std::string task_source;
  std::uint64_t init_seed = 0;
  Plan plan;
  Guards guards;
};

/// The hosts of one evaluation: those that stay, and the candidate. Thread: one.
class Arms {
 public:
  /// `machine` outlives the arms.
  Arms(Descriptor zygote, std::vector<HostParts> residents, ArmSettings settings, Machine& machine);

  /// The task host; a resident one, or a new one that has not been asked anything.
  Result<Host*, Ending> task();

  /// Forks the candidate's host and tells it to load; it works on while others are prepared.
  /// `role`: candidate, or twin, the same once more.
  Result<void, Ending> begin_candidate(const Solution& solution, const KnownTask& task,
                                       Role role = Role::candidate);
  /// What a host of its own found in the candidate's source, which it reads while others work.
  Result<std::vector<std::string>, Ending> source_findings();
  /// Waits for begin_candidate() and gives it weights and inputs. `writable` replaces the inputs'
  /// memory.
  Result<void, Ending> finish_candidate(const KnownTask& task, const Weights& weights,
                                        const Inputs& inputs, const DeviceMemory* writable,
                                        Role role = Role::candidate);
  /// Makes eager, compile or the reference in double precision ready for calls.
  Result<void, Ending> prepare(Role role, const KnownTask& task, const Weights& weights,
                               const Inputs& inputs);

  /// Gives a host that is ready for calls another set of weights, by load_state_dict on the same
  /// model, and makes it ready again.
  Result<void, HostFailure> change_weights(Role role, const Weights& weights);

  Host& host(Role role) { return hosts_.at(role); }
  bool has(Role role) const { return hosts_.contains(role); }
  void drop(Role role) { hosts_.erase(role); }
  /// Ends what runs the candidate's code. False: it does not go away.
  bool end_candidate();
  /// Isolation layers that some host lacks.
  const std::vector<std::string>& missing() const { return missing_; }
  /// Parks the hosts that may be used again and hands them out.
  std::vector<HostParts> release_residents(bool keep_task_host);

 private:
  Result<Host*, Ending> spawn(Role role, const std::string& workspace);
  Result<void, HostFailure> dress(Host& host, const Weights& weights, const Inputs& inputs,
                                  const DeviceMemory* writable);
  nlohmann::json load_message(const KnownTask& task) const;
  Result<std::string, Ending> lay_task();
  Result<std::string, Ending> lay_solution(const Solution& solution);

  ZygoteClient zygote_;
  ArmSettings settings_;
  Machine& machine_;
  std::map<Role, Host> hosts_;
  Descriptor library_;
  int workspaces_ = 0;
  std::vector<std::string> missing_;
};

}  // namespace swage::judge
