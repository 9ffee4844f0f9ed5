#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/result.hpp"

namespace swage::attacks {

/// What an evaluation must end with: `ok`, `mismatch`, `policy_violation(dispatch)`.
struct Expected {
  std::string code;    ///< as the verdict's, lower case
  std::string rule{};  ///< of a policy_violation
};

/// One folder of tests/attacks/fixtures: fixture.yaml, model_new.py (the exploit), twin.py (its
/// honest relative). Tasks are those of tests/attacks/tasks.
struct Fixture {
  std::string id;     ///< row of attacks.md, `A3`
  std::string name;   ///< the folder's
  std::string title;  ///< what the candidate does
  std::string task;
  std::string twin_task;  ///< the repaired task of a task defect, else `task`
  std::string mode;       ///< verify or score
  std::string precision;  ///< official or matched
  std::string library;    ///< `cuda_extension`, `outside`, `leaver`; twins always use the former
  std::vector<std::string> guards;  ///< `off` switches off all; each alone must do as well
  Expected off;
  Expected on;
  bool off_fast = false;       ///< without its guards it also seems faster than it is
  std::uint32_t off_tier = 0;  ///< what it seems to be without its guards; 0: nobody asks
  std::uint32_t on_tier = 0;   ///< its true tier, where it is ok in spite of the attack
  std::string log;             ///< part of the verdict's log with all guards on; may be empty
  std::string detail;          ///< part of the verdict's detail with all guards on; may be empty
  std::string model_new;
  std::string twin;
};

/// Reads all of them, sorted by name. Error: which file is wrong, and why.
Result<std::vector<Fixture>, std::string> read_fixtures(const std::filesystem::path& folder);

}  // namespace swage::attacks
