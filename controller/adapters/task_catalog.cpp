#include "controller/adapters/task_catalog.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "common/base/digest.hpp"
#include "common/base/files.hpp"

namespace swage::controller {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kLargestSource = 1 << 20;

/// What KernelBench's format asks of a file; whether it runs is for `swage tasks check` to say.
std::string why_not_a_task(const std::string& source) {
  if (source.size() > kLargestSource) return "is larger than 1 MiB";
  for (const auto* part : {"class Model", "def get_inputs", "def get_init_inputs"})
    if (source.find(part) == std::string::npos)
      return std::string("has no `") + part +
             "`: a task file defines class Model(nn.Module), "
             "get_inputs() and get_init_inputs(); try `swage tasks check` on it";
  return {};
}

class Loader {
 public:
  Loader(const TrainingRun& run, fs::path installed)
      : run_(run), installed_(std::move(installed)) {}

  Result<TaskCatalog, ConfigError> load() {
    for (const auto& set : run_.tasks) {
      TaskShare share;
      share.weight = set.weight;
      const auto before = out_.tasks.size();
      if (set.set.starts_with("builtin-")) {
        load_builtin(set.set);
      } else {
        load_path(set.set);
      }
      for (auto at = before; at < out_.tasks.size(); ++at) share.tasks.push_back(at);
      if (share.tasks.empty() && error_.complaints.empty())
        complain(set.set, "holds no task for this preset and device kind");
      out_.shares.push_back(std::move(share));
    }
    check_decks();
    if (!error_.complaints.empty()) return tl::unexpected(std::move(error_));
    return std::move(out_);
  }

 private:
  void complain(const fs::path& file, const std::string& what) {
    error_.complaints.push_back(file.string() + ": " + what);
  }

  void load_builtin(const std::string& set) {
    const auto folder = installed_ / set;
    const auto index = read_file(folder / "index.json");
    if (!index) {
      complain(folder, "the built-in tasks are not installed (" + index.error().message +
                           "); build swage again");
      return;
    }
    const auto list = nlohmann::json::parse(*index, nullptr, false);
    if (!list.is_array()) {
      complain(folder / "index.json", "is not a list of tasks; build swage again");
      return;
    }
    for (const auto& entry : list) {
      const bool quickstart = entry.value("quickstart", false);
      if (run_.learning.preset == learner::Preset::one_machine && !quickstart) continue;
      const auto id = entry.value("id", "");
      auto task = read_task(folder / id / "model.py", id);
      if (!task) continue;
      task->level = entry.value("level", 0U);
      task->ops = entry.value("ops", std::vector<std::string>{});
      task->tags = entry.value("tags", std::vector<std::string>{});
      task->eager_ms = entry.value("eager_ms", 0.0);
      task->compile_ms = entry.value("compile_ms", 0.0);
      task->deck = entry.value("deck", 0U);
      out_.tasks.push_back(std::move(*task));
    }
  }

  void load_path(const fs::path& path) {
    std::error_code failed;
    if (!fs::is_regular_file(path, failed) && !fs::is_directory(path, failed)) {
      complain(path,
               "is neither a file nor a folder; give an absolute path of a task file or a "
               "folder of them");
      return;
    }
    const auto files = task_files(path);
    if (files.empty()) complain(path, "holds no .py file");
    for (const auto& file : files) load_file(file);
  }

  void load_file(const fs::path& file) {
    if (file.extension() != ".py") {
      complain(file,
               "is not a .py file; a task is a Python file with `class Model`, `get_inputs()` and "
               "`get_init_inputs()`");
      return;
    }
    auto id = file.filename() == "model.py" ? file.parent_path().filename().string()
                                            : file.stem().string();
    std::transform(id.begin(), id.end(), id.begin(), [](unsigned char c) {
      return std::isalnum(c) ? static_cast<char>(std::tolower(c)) : c == '-' ? '-' : '_';
    });
    if (auto task = read_task(file, id.substr(0, 64))) out_.tasks.push_back(std::move(*task));
  }

  std::optional<TaskRecord> read_task(const fs::path& file, const std::string& id) {
    auto source = read_file(file);
    if (!source) {
      complain(file, source.error().message);
      return std::nullopt;
    }
    if (const auto why = why_not_a_task(*source); !why.empty()) {
      complain(file, why);
      return std::nullopt;
    }
    TaskRecord out;
    out.id = id;
    out.digest = sha256_hex(*source);
    out.source = std::move(*source);
    out.device_kind = run_.device_kind;
    const bool known = std::any_of(out_.tasks.begin(), out_.tasks.end(),
                                   [&](const auto& task) { return task.id == id; });
    if (known) {
      complain(file, "has the id `" + id + "` of another task; rename one of them");
      return std::nullopt;
    }
    return out;
  }

  void check_decks() {
    const auto& collect = run_.learning.stages.collect;
    if (!collect.enabled || collect.actor != learner::CollectActor::teacher) return;
    for (const auto& task : out_.tasks)
      if (task.deck == 0)
        error_.complaints.push_back("task " + task.id +
                                    " has no scripted teacher; set "
                                    "spec.stages.collect.actor: Policy");
  }

  const TrainingRun& run_;
  fs::path installed_;
  TaskCatalog out_;
  ConfigError error_;
};

}  // namespace

std::vector<fs::path> task_files(const fs::path& set) {
  std::error_code failed;
  if (fs::is_regular_file(set, failed)) return {set};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(set, failed))
    if (entry.is_regular_file(failed) && entry.path().extension() == ".py")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

Result<TaskCatalog, ConfigError> load_tasks(const TrainingRun& run,
                                            const std::filesystem::path& installed) {
  return Loader(run, installed).load();
}

}  // namespace swage::controller
