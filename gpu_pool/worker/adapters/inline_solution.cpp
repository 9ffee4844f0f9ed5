#include "gpu_pool/worker/adapters/inline_solution.hpp"

#include <stdlib.h>

#include <nlohmann/json.hpp>

#include "common/asio/process.hpp"
#include "common/base/files.hpp"

namespace swage::worker {
namespace {

namespace fs = std::filesystem;
using Outcome = Result<InlineSolution, std::string>;

/// A folder that goes away with its owner.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = fs::temp_directory_path() / "swage-inline-XXXXXX";
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

Outcome parse(const std::string& text) {
  const auto said = nlohmann::json::parse(text, nullptr, false);
  if (!said.is_object())
    return tl::unexpected<std::string>("the reader of load_inline wrote nonsense");
  if (said.contains("error")) return tl::unexpected(said["error"].get<std::string>());
  InlineSolution out;
  out.model_new = said.at("model_new").get<std::string>();
  out.changes = said.at("changes").get<std::vector<std::string>>();
  for (const auto& [path, content] : said.at("files").items())
    out.files.push_back({path, 0644, content.get<std::string>()});
  return out;
}

}  // namespace

bool mentions_inline(const std::string& model_new) {
  return model_new.find("load_inline") != std::string::npos;
}

Task<Outcome> take_inline(asio::any_io_executor strand, fs::path python, fs::path program,
                          fs::path solution) {
  const ScratchFolder folder;
  if (folder.path().empty())
    co_return Outcome(tl::unexpected<std::string>("cannot make a folder for temporary files"));
  const fs::path answer = folder.path() / "answer.json";
  ProcessSpec spec;
  spec.argv = {python, "-I", "-S", "-B", program, solution, answer};
  spec.env = {{"LANG", "C.UTF-8"}};
  spec.log = folder.path() / "log";
  auto process = Process::start(strand, spec);
  if (!process) co_return Outcome(tl::unexpected(process.error().message));
  const int status = co_await (*process)->wait();
  const auto text = read_file(answer);
  if (status != 0 || !text)
    co_return Outcome(tl::unexpected(solution.string() + " cannot be read as Python (" +
                                     describe_status(status) + ")"));
  co_return parse(*text);
}

}  // namespace swage::worker
