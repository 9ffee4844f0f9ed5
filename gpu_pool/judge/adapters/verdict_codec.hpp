#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.hpp"
#include "gpu_pool/judge/api/judge_runner.hpp"
#include "gpu_pool/judge/core/verdict.hpp"

namespace swage::judge {

/// A serialised swage.v1.Verdict. Untrusted text is quoted and bounded here.
std::string encode_verdict(const JudgeRequest& request, const VerdictRecord& record);

/// The candidate as it left the sandbox.
struct Solution {
  std::string id;                                          ///< bundle id
  std::vector<std::pair<std::string, std::string>> files;  ///< path and content
  std::string library;        ///< cuda_extension.so; empty if it did not compile
  std::string compile_error;  ///< diagnostics
  std::string toolchain;
};
/// From a serialised swage.v1.Bundle. Errors: not a bundle, or a path that is absolute or climbs.
Result<Solution, std::string> decode_bundle(const std::string& bytes);

}  // namespace swage::judge
