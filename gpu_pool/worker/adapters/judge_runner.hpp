#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/asio/asio.hpp"
#include "common/asio/stop_source.hpp"
#include "common/base/result.hpp"
#include "gpu_pool/judge/api/judge_runner.hpp"

namespace swage::worker {

/// What a judge runner needs. Every path is absolute.
struct JudgeRunnerSettings {
  std::filesystem::path python;                ///< interpreter that has torch
  std::filesystem::path model_host_directory;  ///< holds zygote_main.py and the arenas' libraries
  std::filesystem::path judge_binary;          ///< swage-judge, which takes no arguments
  std::vector<std::string> judge_arguments;    ///< for a binary of a test that takes some
  std::filesystem::path cache_directory;       ///< Inductor's artefacts, kept from run to run
  std::filesystem::path log;                   ///< stderr of zygote and judges; empty: ours
  std::vector<int> host_cores;                 ///< processors of the model hosts
  std::vector<int> judge_cores;                ///< processors of the judge
  std::string verdict_key;                     ///< signs verdicts; never leaves this process
  std::uint64_t memory_bytes = 4ULL << 30;     ///< address space that a candidate may add
  std::size_t resident_tasks = 16;  ///< tasks whose facts and hosts are kept, least recent go first
  std::string seed;                 ///< 64 hex digits to repeat an evaluation; trust is reduced
};

/// Cores for judge and hosts on this machine: the judge on the first, the hosts on the others
/// (under four cores: on the second alone; with one core there is no choice). On `cuda` the judge
/// gets a second one where there are many: the driver has threads of its own beside the one that
/// waits in a loop.
void choose_cores(JudgeRunnerSettings& settings, std::string_view device = "cpu");

/// Makes the folder in which the model hosts keep what they compile, and tries whether this user
/// may write into it and into every folder that an earlier process, perhaps of another user, has
/// made there. Without this a host would fail in the middle of an evaluation, and its task would be
/// blamed. Blocks for milliseconds. Errors: a sentence for people that names the folder, the
/// system's reason and the remedy.
Result<void, std::string> check_cache(const std::filesystem::path& cache);

/// Starts the zygote and waits until it is warm (5 s; 30 s the first time on a machine, when it
/// finds out which vector instructions work). The runner lives on `strand`. Errors: a sentence for
/// people with the remedy. Asking `stop` ends the wait.
Task<Result<std::unique_ptr<judge::JudgeRunner>, std::string>> start_judge_runner(
    asio::any_io_executor strand, JudgeRunnerSettings settings, StopSource& stop);

}  // namespace swage::worker
