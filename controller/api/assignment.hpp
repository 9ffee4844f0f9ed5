#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/api/learner_view.hpp"
#include "controller/api/resources.hpp"

namespace swage::controller {

/// A task as agents, sandboxes and judges get it.
struct TaskRecord {
  std::string id;
  std::string source;  ///< text of model.py
  std::string digest;  ///< SHA-256 of it, 64 hex digits
  DeviceKind device_kind = DeviceKind::cpu;
  std::uint32_t level = 0;  ///< KernelBench level, 0 if unknown
  std::vector<std::string> ops;
  std::vector<std::string> tags;
  double eager_ms = 0;     ///< at admission, milliseconds; 0 if not measured
  double compile_ms = 0;   ///< at admission, milliseconds; 0 if not measured
  std::uint32_t deck = 0;  ///< cards of the scripted teacher, 0 if it has none
};

struct SandboxAddress {
  std::string address;  ///< gRPC target
  std::string token;    ///< bearer token of this sandbox alone
  std::string uid;      ///< pod uid
};

/// Bounds of one rollout.
struct RolloutBounds {
  std::uint32_t turns = 0;
  std::uint32_t context_tokens = 0;
  std::uint32_t turn_tokens = 0;         ///< of one policy message
  std::uint32_t observation_tokens = 0;  ///< of one observation
  std::uint32_t wall_clock_seconds = 0;
};

/// Everything a rollout worker needs for one attempt.
struct AssignmentOrder {
  std::string rollout_id;
  std::uint32_t attempt = 1;
  std::uint64_t epoch = 0;
  std::string run;
  std::string run_uid;
  Stage stage = Stage::none;
  std::uint64_t group = 0;
  std::uint32_t member = 0;
  std::uint64_t seed = 0;
  TaskRecord task;
  SandboxAddress sandbox;
  bool teacher = false;
  std::uint32_t teacher_card = 0;
  RolloutBounds bounds;
  double temperature = 1;
  std::uint64_t min_weight_version = 0;
  Precision precision = Precision::official;
  bool one_machine = false;
  int weight = 1;
  int max_leases = 0;
  bool no_agent_loop = false;
  std::string reward = "paper";
};

/// One policy server, as far as the controller knows.
struct PolicyServer {
  std::string address;
  std::uint64_t weight_version = 0;
  bool operator==(const PolicyServer&) const = default;
};

}  // namespace swage::controller
