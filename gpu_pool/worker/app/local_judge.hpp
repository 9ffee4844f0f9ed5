#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "common/asio/asio.hpp"
#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"
#include "common/base/result.hpp"
#include "gpu_pool/judge/api/judge_runner.hpp"
#include "sandbox/api/compile_service.hpp"

namespace swage::worker {

/// One solution, judged on this machine without pool, queue or run.
struct LocalSolution {
  std::filesystem::path task;      ///< model.py in KernelBench's format
  std::filesystem::path solution;  ///< folder with model_new.py and kernels/, or one file with
                                   ///< load_inline; empty where only the references are measured
  std::filesystem::path python;    ///< interpreter that reads load_inline
  std::filesystem::path inline_program;  ///< inline_sources.py
  std::filesystem::path pristine;  ///< binding.cpp and binding_registry.h (the sandbox's template)
  judge::Mode mode = judge::Mode::score;
  std::string precision = "official";
  std::string device = "cpu";  ///< `cpu` or `cuda`
  bool one_machine = true;     ///< 12 rounds; else 30 to 120 for a score
  judge::Subject subject = judge::Subject::solution;
  std::uint32_t rounds = 0;    ///< so many instead; 0: as above
  std::uint32_t budget_s = 0;  ///< seconds for the rounds; 0: the judge's own limit
};

struct LocalVerdict {
  std::string verdict;      ///< serialised swage.v1.Verdict, whose rollout is `manual-<digest>`
  std::string diagnostics;  ///< the compiler's, file:line relative to the solution; empty: none
};

/// Compiles the solution as a sandbox would, out of the same bundle, and judges it. A solution that
/// does not compile gets a verdict too. Errors: a sentence for people that names the file. Thread:
/// the strand of runner and compiler.
Task<Result<LocalVerdict, std::string>> judge_locally(
    asio::any_io_executor strand, LocalSolution what, sandbox::CompileService& compiler,
    judge::JudgeRunner& runner, std::function<void(judge::Progress)> progress, StopSource& stop);

}  // namespace swage::worker
