#pragma once

#include <map>
#include <memory>
#include <string>

#include "gpu_pool/judge/api/judge_runner.hpp"
#include "gpu_pool/worker/adapters/judge_runner.hpp"
#include "swage/v1/verdict.pb.h"

namespace swage::testing {

/// A judge runner with real hosts on this machine, driven from a test. Where things lie comes from
/// the build. Starting it takes as long as a zygote takes to warm up: use one for many cases.
class JudgeBench {
 public:
  JudgeBench();
  ~JudgeBench();

  /// From here on evaluations run without these guards (comma-separated names); "" for all guards,
  /// which is how a bench begins. Without some the testing judge runs.
  void switch_off(const std::string& guards);

  /// One evaluation. `files` of the solution: path to content. `library` empty: it did not compile.
  v1::Verdict judge(judge::Mode mode, const std::string& task_source,
                    const std::map<std::string, std::string>& files, const std::string& library,
                    bool one_machine = true, const std::string& precision = "official");
  /// Whether the runner says that nothing of an evaluation is left.
  bool clear();
  /// The signature of the last verdict holds under the bench's key.
  bool last_signature_holds() const { return signature_holds_; }

 private:
  struct State;
  std::unique_ptr<State> state_;
  bool signature_holds_ = false;
};

/// A file of this source tree, by its path from the root.
std::string source_file(const std::string& path);
/// The fixture library, compiled at build time.
std::string fixture_library();

}  // namespace swage::testing
