#include "gpu_pool/worker/app/local_judge.hpp"

#include <algorithm>
#include <vector>

#include "common/base/digest.hpp"
#include "common/base/files.hpp"
#include "gpu_pool/worker/adapters/bundle_message.hpp"
#include "gpu_pool/worker/adapters/inline_solution.hpp"
#include "sandbox/api/work_layout.hpp"

namespace swage::worker {
namespace {

namespace fs = std::filesystem;
using sandbox::WorkFile;
using Files = std::vector<WorkFile>;

const std::string kEntry = "model_new.py";

Result<void, std::string> add_file(const fs::path& at, const std::string& name, Files& files) {
  auto content = read_file(at);
  if (!content) return tl::unexpected(content.error().message);
  files.push_back({name, 0644, std::move(*content)});
  return {};
}

/// The folder's own sources and those in kernels/; of a single file, that file.
Result<Files, std::string> own_files(const LocalSolution& what) {
  Files files;
  std::error_code failed;
  if (fs::is_regular_file(what.solution, failed)) {
    if (auto added = add_file(what.solution, kEntry, files); !added)
      return tl::unexpected(added.error());
    return files;
  }
  for (const char* folder : {".", "kernels"}) {
    if (fs::is_symlink(what.solution / folder, failed)) continue;  // nor does a sandbox follow it
    for (const auto& entry : fs::directory_iterator(what.solution / folder, failed)) {
      const std::string name = (fs::path(folder) / entry.path().filename()).lexically_normal();
      if (!entry.is_regular_file(failed) || entry.is_symlink(failed)) continue;
      if (!sandbox::is_handed_in(name)) continue;
      if (auto added = add_file(entry.path(), name, files); !added)
        return tl::unexpected(added.error());
    }
  }
  return files;
}

struct Collected {
  Files files;                       ///< with the pristine ones
  std::vector<std::string> changes;  ///< what was done to them
};

/// Takes load_inline's sources out where there are any.
Task<Result<void, std::string>> take_sources_out(asio::any_io_executor strand, LocalSolution what,
                                                 Collected& collected) {
  using Outcome = Result<void, std::string>;
  const auto entry = std::ranges::find(collected.files, kEntry, &WorkFile::path);
  if (entry == collected.files.end())
    co_return Outcome(tl::unexpected(what.solution.string() + " has no model_new.py"));
  if (!mentions_inline(entry->content)) co_return Outcome();
  std::error_code failed;
  const bool single = fs::is_regular_file(what.solution, failed);
  auto taken = co_await take_inline(strand, what.python, what.inline_program,
                                    single ? what.solution : what.solution / kEntry);
  if (!taken) co_return Outcome(tl::unexpected(taken.error()));
  entry->content = std::move(taken->model_new);
  for (auto& file : taken->files) collected.files.push_back(std::move(file));
  collected.changes = std::move(taken->changes);
  co_return Outcome();
}

/// source: the task's, which stands in the bundle as model.py.
Task<Result<Collected, std::string>> collect(asio::any_io_executor strand, LocalSolution what,
                                             std::string source) {
  using Outcome = Result<Collected, std::string>;
  auto files = own_files(what);
  if (!files) co_return Outcome(tl::unexpected(files.error()));
  Collected out{std::move(*files), {}};
  const auto taken = co_await take_sources_out(strand, what, out);
  if (!taken) co_return Outcome(tl::unexpected(taken.error()));
  Files pristine{{"model.py", 0444, std::move(source)}};
  for (const auto& name : sandbox::template_sources())
    if (auto added = add_file(what.pristine / name, name, pristine); !added)
      co_return Outcome(tl::unexpected(added.error()));
  out.files = sandbox::bundle_files(std::move(pristine), std::move(out.files));
  if (auto checked = sandbox::check_bundle_files(out.files); !checked)
    co_return Outcome(tl::unexpected(checked.error()));
  co_return out;
}

judge::JudgeRequest request_for(const LocalSolution& what, std::string source,
                                const std::string& id) {
  judge::JudgeRequest request;
  request.request = "manual-" + id.substr(0, 16);
  request.rollout_id = request.request;
  request.run_uid = "manual";
  request.pool = "local.manual";
  request.mode = what.mode;
  request.task_id = what.task.parent_path().filename().string();
  request.task_digest = sha256_hex(source);
  request.task_source = std::move(source);
  request.precision = what.precision;
  request.device = what.device;
  request.one_machine = what.one_machine;
  request.subject = what.subject;
  request.rounds = what.rounds;
  request.budget_s = what.budget_s;
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

Task<Result<LocalVerdict, std::string>> judge_locally(
    asio::any_io_executor strand, LocalSolution what, sandbox::CompileService& compiler,
    judge::JudgeRunner& runner, std::function<void(judge::Progress)> progress, StopSource& stop) {
  using Outcome = Result<LocalVerdict, std::string>;
  auto source = read_file(what.task);
  if (!source) co_return Outcome(tl::unexpected(source.error().message));
  LocalVerdict out;
  judge::JudgeRequest request;
  if (what.subject == judge::Subject::reference) {
    request = request_for(what, *source, sha256_hex(*source));
  } else {
    auto solution = co_await collect(strand, what, *source);
    if (!solution) co_return Outcome(tl::unexpected(solution.error()));
    progress({"compile", 0, 0});
    const auto compiled = co_await compiler.compile(solution->files, stop);
    if (!compiled) co_return Outcome(tl::unexpected(compiled.error().message));
    const std::string id = sandbox::bundle_id(solution->files, compiled->library);
    request = request_for(what, *source, id);
    request.bundle = encode_bundle(id, solution->files, *compiled);
    request.changes = std::move(solution->changes);
    out.diagnostics = compiled->diagnostics;
  }
  const auto outcome = co_await runner.run(std::move(request), std::move(progress), stop);
  if (!outcome) co_return Outcome(tl::unexpected(why_no_verdict(outcome.error())));
  out.verdict = outcome->verdict;
  co_return Outcome(std::move(out));
}

}  // namespace swage::worker
