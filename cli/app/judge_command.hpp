#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>

namespace swage::cli {

/// `swage judge`.
struct JudgeOptions {
  std::string task;      ///< model.py
  std::string solution;  ///< folder with model_new.py and kernels/, or one file with load_inline
  std::string device = "cpu";  ///< cpu, cuda
  std::string mode = "score";  ///< verify, profile, score
  std::string precision = "official";
  std::string rounds;           ///< quick: 12; full: until the intervals decide; or a number
  std::uint32_t budget_s = 0;   ///< seconds for the rounds; 0: the judge's own limit
  bool reference_only = false;  ///< eager and compile alone
  int ab_noise = 0;             ///< so often the solution against itself
  std::string seed;             ///< 64 hex digits
  int repeat = 1;
  bool json = false;
};

/// Declares them on a subcommand.
void add_judge_options(CLI::App& command, JudgeOptions& options);

/// Compiles and judges one solution on this machine. Returns the exit code: 0 when every verdict
/// is `ok` (of --ab-noise: when no run called one arm faster), 1 when one is not, 64 bad arguments,
/// 69 something needed is missing.
int judge_command(const JudgeOptions& options);

}  // namespace swage::cli
