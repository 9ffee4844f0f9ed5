// swage-train-tokenizer: byte-level BPE out of text files, as a Hugging Face tokenizer.json.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "common/base/exit_code.hpp"
#include "common/base/files.hpp"
#include "common/base/json_text.hpp"
#include "policy/tokenizer/tokenizer.hpp"
#include "policy/tokenizer/trainer.hpp"

namespace {

/// A folder stands for all regular files below it, in the order of their paths.
std::vector<std::filesystem::path> expanded(const std::vector<std::string>& inputs) {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path input : inputs) {
    if (!std::filesystem::is_directory(input)) {
      files.push_back(input);
      continue;
    }
    std::vector<std::filesystem::path> inside;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(input))
      if (entry.is_regular_file()) inside.push_back(entry.path());
    std::ranges::sort(inside);
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

/// The text as it stands inside a JSON string, which is how an agent writes files.
std::string escaped(const std::string& text) {
  const auto quoted = swage::json_text(nlohmann::json(text));
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Trains a byte-level BPE tokenizer and writes a tokenizer.json. Deterministic.");
  swage::policy::TrainerOptions options;
  std::vector<std::string> inputs, json_inputs;
  std::string out;
  app.add_option("--vocabulary", options.vocabulary, "most token ids")->capture_default_str();
  app.add_option("--special", options.special, "special token, gets the next of the first ids");
  app.add_option("--min-count", options.min_count, "pairs seen fewer times are not merged")
      ->capture_default_str();
  app.add_option("--json-input", json_inputs, "file or folder, read as it stands in a JSON string");
  app.add_option("--out", out, "file to write")->required();
  app.add_option("input", inputs, "text files or folders");
  CLI11_PARSE(app, argc, argv);
  if (options.vocabulary < options.special.size() + 256) {
    std::cerr << "--vocabulary: at least " << options.special.size() + 256 << "\n";
    return swage::exit_code::kBadInput;
  }
  std::vector<std::string> texts;
  const auto read_all = [&](const std::vector<std::string>& from, bool as_json) {
    for (const auto& file : expanded(from)) {
      auto text = swage::read_file(file);
      if (!text) {
        std::cerr << text.error().message << "\n";
        return false;
      }
      texts.push_back(as_json ? escaped(*text) : std::move(*text));
    }
    return true;
  };
  if (!read_all(inputs, false) || !read_all(json_inputs, true)) return swage::exit_code::kMissing;
  const auto json = swage::policy::train_tokenizer(options, texts);
  if (const auto written = swage::write_file_durably(out, json); !written) {
    std::cerr << written.error().message << "\n";
    return swage::exit_code::kNotWritable;
  }
  const auto made = swage::policy::Tokenizer::parse(json);
  if (!made) {
    std::cerr << made.error().message << "\n";
    return swage::exit_code::kBug;
  }
  std::cout << out << ": " << made->vocabulary() << " tokens, sha256 " << made->digest() << "\n";
  return 0;
} catch (const std::exception& e) {
  std::cerr << "swage-train-tokenizer: " << e.what() << "\n";
  return swage::exit_code::kBug;
}
