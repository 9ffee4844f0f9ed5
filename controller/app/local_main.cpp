#include "controller/app/local_main.hpp"

#include "common/base/exit_code.hpp"
#include "common/base/stop_graces.hpp"
#include "common/log/log.hpp"
#include "controller/adapters/model_check.hpp"
#include "controller/adapters/run_file.hpp"
#include "controller/adapters/task_check.hpp"
#include "controller/app/program.hpp"
#include "controller/app/run_controller.hpp"
#include "policy/tokenizer/renderer.hpp"
#include "policy/tokenizer/tokenizer.hpp"

namespace swage::controller {
namespace {

int code_of(const OutError& error) {
  return error.disk_full || error.code == OutErrc::unwritable ? exit_code::kNotWritable
                                                              : exit_code::kBadInput;
}

/// An own model must know the marks of the one chat format that there is so far.
Result<void, std::string> check_tokenizer(const TrainingRun& run) {
  if (run.model_source.starts_with("scratch:")) return {};
  const auto file = std::filesystem::path(run.model_source) / "tokenizer.json";
  auto tokenizer = policy::Tokenizer::load(file);
  if (!tokenizer)
    return tl::unexpected("spec.model.source: " + file.string() + ": " + tokenizer.error().message);
  if (const auto able = policy::make_renderer("tiny", std::move(*tokenizer)); !able)
    return tl::unexpected("spec.model.source: " + file.string() + ": " + able.error().message +
                          "; the chat formats of other models are not there yet: use a model that "
                          "swage trained, or scratch:tiny");
  return {};
}

}  // namespace

int run_locally(const ControllerConfig& config) {
  const auto text = read_file(config.run_file);
  if (!text) return complain(text.error().message, exit_code::kBadInput);
  const auto file = parse_run_file(*text, config.run_file.string());
  if (!file) return complain(file.error().text(), exit_code::kBadInput);
  if (file->run.device_kind == DeviceKind::cuda)
    return complain(config.run_file.string() +
                        ": spec.deviceKind cuda needs a GPU worker that this build does not have; "
                        "set deviceKind: cpu in TrainingRun and ProfilingPool",
                    exit_code::kMissing);
  const auto installed =
      find_installation(std::filesystem::read_symlink("/proc/self/exe").parent_path(),
                        environment_or("PATH", ""), cache_directory());
  if (!installed) {
    for (const auto& what : installed.error()) complain(what, exit_code::kMissing);
    return exit_code::kMissing;
  }
  if (const auto usable = check_model_directory(file->run); !usable)
    return complain(config.run_file.string() + ": " + usable.error(), exit_code::kBadInput);
  if (const auto usable = check_tokenizer(file->run); !usable)
    return complain(config.run_file.string() + ": " + usable.error(), exit_code::kBadInput);
  const auto tasks = load_tasks(file->run, installed->share / "tasks");
  if (!tasks) return complain(tasks.error().text(), exit_code::kBadInput);
  if (const auto usable = check_task_files(file->run, *installed); !usable)
    return complain(usable.error(), exit_code::kBadInput);
  if (!file->run.evaluation.allow_reduced_trust)
    if (const auto able = check_containers(installed->bin); !able)
      return complain(able.error(), exit_code::kMissing);
  auto out =
      OutDirectory::open(config.out, file->run, *text, config.resume, config.evaluation_rollouts);
  if (!out) return complain(out.error().message, code_of(out.error()));
  for (const auto& notice : file->notices) log_info("notice", {{"text", notice}});

  LocalLayout layout(**out, *file, *installed, (*out)->evaluation_rollouts());
  struct CleanUp {
    const LocalLayout& layout;
    ~CleanUp() { layout.clean_up(); }
  } const clean_up{layout};
  const auto prepared = layout.prepare(**out);
  if (!prepared) return complain(prepared.error().message, code_of(prepared.error()));
  const auto tokenizer = policy::Tokenizer::load(layout.tokenizer());
  if (!tokenizer)
    return complain(layout.tokenizer().string() + ": " + tokenizer.error().message,
                    exit_code::kMissing);
  const auto token = read_file(layout.token_file());
  const auto key = read_file(layout.sandbox_key_file());
  if (!token || !key) return complain("the secrets in OUT cannot be read", 1);

  const RunSetup setup{
      *file, **out, layout, *tasks, [&](auto ids) { return tokenizer->decode(ids); }, *token, *key};
  return run_program<RunController>(setup, kLocalControllerStop.watchdog());
}

}  // namespace swage::controller
