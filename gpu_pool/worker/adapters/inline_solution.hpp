#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/asio/asio.hpp"
#include "common/asio/task.hpp"
#include "common/base/result.hpp"
#include "sandbox/api/bundle.hpp"

namespace swage::worker {

/// A solution whose kernels came out of calls of torch's load_inline.
struct InlineSolution {
  std::string model_new;                 ///< its text, with the module cuda_extension instead
  std::vector<sandbox::WorkFile> files;  ///< the sources, for the compile service
  std::vector<std::string> changes;      ///< what was done, one sentence each
};

/// Whether a Python text seems to call load_inline.
bool mentions_inline(const std::string& model_new);

/// Takes the sources out of `solution`, which is read by `program` (inline_sources.py) in a process
/// of its own and never imported. Errors: a sentence for people.
Task<Result<InlineSolution, std::string>> take_inline(asio::any_io_executor strand,
                                                      std::filesystem::path python,
                                                      std::filesystem::path program,
                                                      std::filesystem::path solution);

}  // namespace swage::worker
