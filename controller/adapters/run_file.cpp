#include "controller/adapters/run_file.hpp"

#include <optional>

#include "common/base/files.hpp"
#include "common/config/yaml.hpp"
#include "controller/adapters/schema.hpp"

namespace swage::controller {
namespace {

constexpr const char* kApiVersion = "swage.dev/v1alpha1";

std::string text_of(const nlohmann::json& document, const char* key) {
  const auto found = document.find(key);
  return found != document.end() && found->is_string() ? found->get<std::string>() : "";
}

/// Reads a file's documents one after the other, then checks what holds between them.
class RunFileReader {
 public:
  explicit RunFileReader(std::string file) : file_(std::move(file)) {}

  void read(const YamlDocument& document) {
    const auto complain = [this, &document](const std::string& path, const std::string& what) {
      error_.complaints.push_back(file_ + ":" + std::to_string(document.line_of(path)) + ": " +
                                  (path.empty() ? "document" : path) + " " + what);
    };
    const SchemaContext context{complain, &out_.notices};
    if (!document.value.is_object()) {
      complain("", "must be an object with apiVersion, kind, metadata and spec");
      return;
    }
    const auto kind = text_of(document.value, "kind");
    if (text_of(document.value, "apiVersion") != kApiVersion)
      complain("apiVersion", std::string("must be `") + kApiVersion + "`");
    if (kind == "TrainingRun") {
      if (run_) complain("kind", "TrainingRun stands twice; a file holds one");
      run_ = read_training_run(document.value, context);
      pool_line_ = document.line_of("spec.evaluation.poolRef");
      kind_line_ = document.line_of("spec.deviceKind");
    } else if (kind == "ProfilingPool") {
      if (pool_) complain("kind", "ProfilingPool stands twice; a file holds at most one");
      pool_ = read_profiling_pool(document.value, context);
    } else {
      complain("kind", "must be TrainingRun or ProfilingPool, not `" + kind + "`");
    }
  }

  Result<RunFile, ConfigError> finish() {
    if (!run_ && error_.complaints.empty())
      complain_at(1, "holds no TrainingRun; see examples/quickstart.yaml");
    if (run_ && !pool_) pool_ = pool_for(*run_);
    if (run_ && pool_) check_pair(*run_, *pool_);
    if (!error_.complaints.empty() || !run_ || !pool_) return tl::unexpected(std::move(error_));
    out_.run = std::move(*run_);
    out_.pool = std::move(*pool_);
    return std::move(out_);
  }

 private:
  void complain_at(int line, const std::string& what) {
    error_.complaints.push_back(file_ + ":" + std::to_string(line) + ": " + what);
  }

  ProfilingPool pool_for(const TrainingRun& run) {
    ProfilingPool pool;
    pool.name = run.evaluation.pool.name;
    pool.space = run.evaluation.pool.space;
    pool.device_kind = run.device_kind;
    pool.scaling.mode = ScalingMode::fixed;
    pool.scaling.max_replicas = 1;
    pool.replicas = 1;
    out_.notices.push_back("no ProfilingPool in " + file_ + ": a Fixed one of size 1, " +
                           pool.full_name() + ", is made");
    return pool;
  }

  void check_pair(const TrainingRun& run, const ProfilingPool& pool) {
    const auto& ref = run.evaluation.pool;
    if (ref.name != pool.name || ref.space != pool.space)
      complain_at(pool_line_, "spec.evaluation.poolRef names " + ref.space + "." + ref.name +
                                  ", but the ProfilingPool of this file is " + pool.full_name());
    if (run.device_kind != pool.device_kind)
      complain_at(kind_line_, std::string("spec.deviceKind is ") +
                                  device_kind_name(run.device_kind) +
                                  ", but that of the ProfilingPool is " +
                                  device_kind_name(pool.device_kind) + "; make them equal");
  }

  std::string file_;
  ConfigError error_;
  RunFile out_;
  std::optional<TrainingRun> run_;
  std::optional<ProfilingPool> pool_;
  int pool_line_ = 1;
  int kind_line_ = 1;
};

}  // namespace

Result<RunFile, ConfigError> parse_run_file(std::string_view text, const std::string& name) {
  const auto documents = parse_yaml(text, name);
  if (!documents) return tl::unexpected(documents.error());
  RunFileReader reader(name);
  for (const auto& document : *documents) reader.read(document);
  return reader.finish();
}

Result<RunFile, ConfigError> read_run_file(const std::filesystem::path& file) {
  const auto text = read_file(file);
  if (!text) return tl::unexpected(ConfigError{{text.error().message}});
  return parse_run_file(*text, file.string());
}

}  // namespace swage::controller
