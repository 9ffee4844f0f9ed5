#include "gpu_pool/worker/app/local_judge.hpp"

#include <algorithm>
#include <vector>

#include "common/base/digest.hpp"
#include "common/base/files.hpp"
#include "gpu_pool/worker/adapters/bundle_message.hpp"

namespace swage::worker {
namespace {

namespace fs = std::filesystem;
using sandbox::WorkFile;
using Files = std::vector<WorkFile>;

/// What a solution may not bring along: the judge has its own.
bool is_protected(const std::string& path) {
  return path == "model.py" || path == "SKILL.md" || path == "binding.cpp" ||
         path == "binding_registry.h" || path.starts_with("utils/");
}

bool belongs_to_a_solution(const fs::path& path) {
  static const std::vector<std::string> kKinds{".py", ".cpp", ".cu", ".h", ".hpp", ".cuh"};
  return std::ranges::find(kKinds, path.extension().string()) != kKinds.end();
}

Result<void, std::string> add_file(const fs::path& at, const std::string& name, Files& files) {
  auto content = read_file(at);
  if (!content) return tl::unexpected(content.error().message);
  files.push_back({name, 0644, std::move(*content)});
  return {};
}

/// The folder's own sources and those in kernels/, then the pristine ones.
Result<Files, std::string> collect(const LocalSolution& what) {
  Files files;
  std::error_code failed;
  for (const char* folder : {".", "kernels"}) {
    for (const auto& entry : fs::directory_iterator(what.solution / folder, failed)) {
      const std::string name = (fs::path(folder) / entry.path().filename()).lexically_normal();
      if (!entry.is_regular_file(failed) || entry.is_symlink(failed)) continue;
      if (is_protected(name) || !belongs_to_a_solution(entry.path())) continue;
      if (auto added = add_file(entry.path(), name, files); !added)
        return tl::unexpected(added.error());
    }
  }
  const auto is_entry = [](const WorkFile& file) { return file.path == "model_new.py"; };
  if (std::ranges::none_of(files, is_entry))
    return tl::unexpected(what.solution.string() + " has no model_new.py");
  for (const char* name : {"binding.cpp", "binding_registry.h"})
    if (auto added = add_file(what.pristine / name, name, files); !added)
      return tl::unexpected(added.error());
  if (auto checked = sandbox::check_bundle_files(files); !checked)
    return tl::unexpected(checked.error());
  return files;
}

judge::JudgeRequest request_for(const LocalSolution& what, std::string source, std::string bundle,
                                const std::string& bundle_id) {
  judge::JudgeRequest request;
  request.request = "manual-" + bundle_id.substr(0, 16);
  request.rollout_id = request.request;
  request.run_uid = "manual";
  request.pool = "local.manual";
  request.mode = what.mode;
  request.task_id = what.task.parent_path().filename().string();
  request.task_digest = sha256_hex(source);
  request.task_source = std::move(source);
  request.precision = what.precision;
  request.one_machine = what.one_machine;
  request.bundle = std::move(bundle);
  return request;
}

std::string why_no_verdict(judge::JudgeErrc code) {
  switch (code) {
    case judge::JudgeErrc::cancelled:
      return "interrupted";
    case judge::JudgeErrc::judge_lost:
      return "the judge's process died; its log says more";
    case judge::JudgeErrc::not_ready:
      return "the model hosts cannot be started; their log says more";
  }
  return "";
}

}  // namespace

Task<Result<LocalVerdict, std::string>> judge_locally(LocalSolution what,
                                                      sandbox::CompileService& compiler,
                                                      judge::JudgeRunner& runner,
                                                      std::function<void(judge::Progress)> progress,
                                                      StopSource& stop) {
  using Outcome = Result<LocalVerdict, std::string>;
  auto source = read_file(what.task);
  if (!source) co_return Outcome(tl::unexpected(source.error().message));
  auto files = collect(what);
  if (!files) co_return Outcome(tl::unexpected(files.error()));
  progress({"compile", 0, 0});
  const auto compiled = co_await compiler.compile(*files, stop);
  if (!compiled) co_return Outcome(tl::unexpected(compiled.error().message));
  const std::string id = sandbox::bundle_id(*files, compiled->library);
  auto request = request_for(what, std::move(*source), encode_bundle(id, *files, *compiled), id);
  const auto outcome = co_await runner.run(std::move(request), std::move(progress), stop);
  if (!outcome) co_return Outcome(tl::unexpected(why_no_verdict(outcome.error())));
  co_return Outcome(LocalVerdict{outcome->verdict, compiled->diagnostics});
}

}  // namespace swage::worker
