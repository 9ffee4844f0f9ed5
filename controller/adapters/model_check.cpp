#include "controller/adapters/model_check.hpp"

#include <filesystem>

namespace swage::controller {

namespace fs = std::filesystem;

Result<void, std::string> check_model_directory(const TrainingRun& run) {
  if (run.model_source.starts_with("scratch:")) return {};
  const fs::path folder = run.model_source;
  std::error_code failed;
  std::string missing;
  if (!fs::is_directory(folder, failed)) {
    missing = "is not a directory";
  } else {
    for (const char* name : {"config.json", "tokenizer.json"})
      if (missing.empty() && !fs::is_regular_file(folder / name, failed))
        missing = "holds no " + std::string(name);
    const bool weights = fs::is_regular_file(folder / "model.safetensors", failed) ||
                         fs::is_regular_file(folder / "model.safetensors.index.json", failed);
    if (missing.empty() && !weights) missing = "holds no model.safetensors";
  }
  if (missing.empty()) return {};
  return tl::unexpected("spec.model.source: " + folder.string() + " " + missing +
                        "; give a folder as save_pretrained of transformers writes it "
                        "(config.json, tokenizer.json, *.safetensors), or scratch:tiny");
}

}  // namespace swage::controller
