// swage-teacher-corpus: the texts of the scripted teacher, to train the tiny tokenizer on.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "common/base/files.hpp"
#include "rollout_worker/adapters/deck_files.hpp"
#include "rollout_worker/core/corpus.hpp"

int main(int argc, char** argv) {
  CLI::App app("Writes what teacher trajectories consist of, text by text.");
  std::string tasks, out;
  app.add_option("--tasks", tasks, "folder with a folder per task")->required();
  app.add_option("--out", out, "file to write")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 64;
  }
  std::string corpus;
  const auto folders = swage::rollout_worker::folders_with_decks(tasks);
  if (folders.empty()) {
    std::cerr << "swage-teacher-corpus: no teacher/deck.json below " << tasks << "\n";
    return 69;
  }
  for (const auto& folder : folders) {
    const auto deck = swage::rollout_worker::read_deck(folder);
    const auto model = swage::read_file(folder / "model.py");
    if (!deck || !model) {
      std::cerr << "swage-teacher-corpus: " << (deck ? model.error().message : deck.error())
                << "\n";
      return 69;
    }
    corpus += swage::rollout_worker::teacher_corpus(folder.filename().string(), *model, *deck);
  }
  if (const auto written = swage::write_file_durably(out, corpus); !written) {
    std::cerr << "swage-teacher-corpus: " << written.error().message << "\n";
    return 74;
  }
  return 0;
}
