#include "rollout_worker/adapters/deck_files.hpp"

#include <nlohmann/json.hpp>

#include "common/base/files.hpp"

namespace swage::rollout_worker {
namespace {

namespace fs = std::filesystem;

/// Reads deck.json and its files; the first failure stands.
class DeckReader {
 public:
  explicit DeckReader(fs::path folder) : folder_(std::move(folder)) {}

  Result<TeacherDeck, std::string> read() {
    const auto file = folder_ / "deck.json";
    const auto text = read_file(file);
    if (!text) return tl::unexpected(text.error().message);
    const auto json = nlohmann::json::parse(*text, nullptr, false);
    if (!json.is_object()) return tl::unexpected(file.string() + ": not a JSON object");
    TeacherDeck deck;
    deck.name = field(json, "name");
    deck.model_new = content(json, "model_new");
    deck.binding = content(json, "binding");
    const auto cards = json.find("cards");
    if (cards == json.end() || !cards->is_array() || cards->empty()) {
      complain("cards");
    } else {
      for (const auto& card : *cards)
        deck.cards.push_back({field(card, "variant"), content(card, "kernel")});
    }
    if (!failure_.empty()) return tl::unexpected(failure_);
    return deck;
  }

 private:
  std::string field(const nlohmann::json& object, const char* name) {
    if (object.is_object() && object.contains(name) && object[name].is_string() &&
        !object[name].get_ref<const std::string&>().empty())
      return object[name].get<std::string>();
    complain(name);
    return {};
  }
  std::string content(const nlohmann::json& object, const char* name) {
    const auto file = field(object, name);
    if (file.empty()) return {};
    auto text = read_file(folder_ / file);
    if (text) return std::move(*text);
    if (failure_.empty()) failure_ = text.error().message;
    return {};
  }
  void complain(const char* name) {
    if (failure_.empty())
      failure_ =
          (folder_ / "deck.json").string() + ": field `" + name + "` is missing or ill-typed";
  }

  const fs::path folder_;
  std::string failure_;
};

}  // namespace

Result<TeacherDeck, std::string> read_deck(const fs::path& task_folder) {
  return DeckReader(task_folder / "teacher").read();
}

Result<std::vector<std::string>, std::string> quickstart_tasks(const fs::path& tasks) {
  const auto file = tasks / "index.json";
  const auto text = read_file(file);
  if (!text) return tl::unexpected(text.error().message);
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  std::vector<std::string> ids;
  if (json.is_array())
    for (const auto& task : json)
      if (task.is_object() && task.value("quickstart", false)) ids.push_back(task.value("id", ""));
  if (ids.empty()) return tl::unexpected(file.string() + ": no task with `quickstart`: true");
  return ids;
}

}  // namespace swage::rollout_worker
