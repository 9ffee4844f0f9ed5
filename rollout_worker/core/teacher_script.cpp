#include "rollout_worker/core/teacher_script.hpp"

#include <nlohmann/json.hpp>

#include "common/base/check.hpp"
#include "common/base/json_text.hpp"

namespace swage::rollout_worker {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kWork = "/workspace/task/";

std::string call(const char* tool, const Json& arguments) {
  const Json json{{"name", tool}, {"arguments", arguments}};
  return "<tool_call>" + json_text(json) + "</tool_call>";
}

std::string write(const std::string& path, const std::string& content) {
  return call("Write", {{"file_path", kWork + path}, {"content", content}});
}

std::string bash(const char* command) { return call("Bash", {{"command", command}}); }

}  // namespace

std::vector<std::string> teacher_script(const TeacherDeck& deck, std::size_t card) {
  check(card < deck.cards.size(), "the deck has this card");
  const auto kernel = "kernels/" + deck.name;
  return {
      call("Read", {{"file_path", std::string(kWork) + "model.py"}}),
      write("model_new.py", deck.model_new) + write(kernel + "_binding.cpp", deck.binding) +
          write(kernel + ".cpp", deck.cards[card].kernel),
      bash("bash utils/compile.sh"),
      bash("python3 -m utils.verification"),
      bash("python3 -m utils.profiling"),
      "Done.",
  };
}

}  // namespace swage::rollout_worker
