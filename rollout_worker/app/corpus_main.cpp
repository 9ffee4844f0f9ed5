// swage-teacher-corpus: what the scripted teacher says and is shown, to train the tiny tokenizer
// on, and how many tokens it comes to.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "common/base/exit_code.hpp"
#include "common/base/files.hpp"
#include "rollout_worker/adapters/deck_files.hpp"
#include "rollout_worker/app/token_renderer.hpp"
#include "rollout_worker/core/corpus.hpp"

namespace {

namespace fs = std::filesystem;
using namespace swage::rollout_worker;

int failed(int code, const std::string& text) {
  std::cerr << "swage-teacher-corpus: " << text << "\n";
  return code;
}

struct PlayedTask {
  std::string id;
  std::string model_py;
  TeacherDeck deck;
};

swage::Result<std::vector<PlayedTask>, std::string> read_tasks(const fs::path& folder) {
  const auto ids = quickstart_tasks(folder);
  if (!ids) return tl::unexpected(ids.error());
  std::vector<PlayedTask> tasks;
  for (const auto& id : *ids) {
    auto deck = read_deck(folder / id);
    if (!deck) return tl::unexpected(deck.error());
    auto model = swage::read_file(folder / id / "model.py");
    if (!model) return tl::unexpected(model.error().message);
    tasks.push_back({id, std::move(*model), std::move(*deck)});
  }
  return tasks;
}

/// One line a card: tokens of a whole trajectory, and how many of them the teacher says.
void measure(const std::vector<PlayedTask>& tasks, const Renderer& renderer) {
  std::size_t largest = 0;
  for (const auto& task : tasks) {
    for (std::size_t card = 0; card < task.deck.cards.size(); ++card) {
      const auto size = trajectory_size(renderer, task.id, task.model_py, task.deck, card);
      std::cout << task.id << " " << task.deck.cards[card].variant << ": " << size.tokens
                << " tokens, " << size.sampled << " sampled\n";
      largest = std::max(largest, size.tokens);
    }
  }
  std::cout << "longest: " << largest << " tokens\n";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Writes what trajectories of the scripted teacher consist of, or measures them.");
  std::string tasks_folder, out, tokenizer_file;
  app.add_option("--tasks", tasks_folder, "folder with index.json and a folder per task")
      ->required();
  app.add_option("--out", out, "text file to write");
  app.add_option("--measure", tokenizer_file, "tokenizer.json to count tokens with");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : swage::exit_code::kBadInput;
  }
  const auto tasks = read_tasks(tasks_folder);
  if (!tasks) return failed(swage::exit_code::kMissing, tasks.error());
  if (!out.empty()) {
    std::string corpus;
    for (const auto& task : *tasks) corpus += teacher_corpus(task.id, task.model_py, task.deck);
    if (const auto written = swage::write_file_durably(out, corpus); !written)
      return failed(74, written.error().message);
  }
  if (!tokenizer_file.empty()) {
    auto tokenizer = swage::policy::Tokenizer::load(tokenizer_file);
    if (!tokenizer) return failed(swage::exit_code::kMissing, tokenizer.error().message);
    const auto renderer = make_token_renderer("tiny", std::move(*tokenizer));
    if (!renderer) return failed(swage::exit_code::kMissing, renderer.error().message);
    measure(*tasks, **renderer);
  }
  return 0;
}
