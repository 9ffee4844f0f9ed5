#include "rollout_worker/core/corpus.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace swage::rollout_worker {
namespace {

/// As the Read tool shows a file.
std::string numbered(std::string_view content) {
  std::string shown;
  for (int line = 1; !content.empty(); ++line) {
    const auto end = std::min(content.find('\n'), content.size());
    char number[16];
    std::snprintf(number, sizeof number, "%6d\t", line);
    shown += number;
    shown += content.substr(0, end);
    shown += '\n';
    content.remove_prefix(std::min(end + 1, content.size()));
  }
  return shown;
}

std::string wrote(const std::string& path, std::string_view content) {
  return "Wrote /workspace/task/" + path + " (" +
         std::to_string(std::ranges::count(content, '\n')) + " lines).";
}

constexpr const char* kRight =
    "[PASS] check 1/5\n[PASS] check 2/5\n[PASS] check 3/5\n[PASS] check 4/5\n[PASS] check 5/5\n"
    "[PASS] verify success\n";
constexpr const char* kWrong =
    "[FAIL] check 1/5: largest difference 3.96042\n[FAIL] verify failed: mismatch\n"
    "[INFO] element 17 differs\n";
constexpr const char* kTimes =
    "Torch Baseline: 1234.567us, Torch Compile: 890.123us, CUDA Extension: 456.789us\n"
    "[INFO] time / Torch Baseline: 0.370, interval 0.359 to 0.402\n"
    "[INFO] time / Torch Compile: 0.513, interval 0.498 to 0.541\n";

std::string profiled(const std::string& variant) {
  if (variant == "wrong") return kWrong;
  const char* tier = variant == "slow"  ? "1: correct, not measurably faster than Torch Baseline"
                     : variant == "mid" ? "2: faster than Torch Baseline, not than Torch Compile"
                                        : "3: faster than Torch Baseline and Torch Compile";
  return std::string(kTimes) + "[INFO] reward tier " + tier + "\n";
}

}  // namespace

std::vector<std::vector<std::string>> typical_observations(const std::string& model_py,
                                                           const TeacherDeck& deck,
                                                           std::size_t card) {
  const auto& played = deck.cards[card];
  const auto kernel = "kernels/" + deck.name;
  return {
      {numbered(model_py)},
      {wrote("model_new.py", deck.model_new), wrote(kernel + "_binding.cpp", deck.binding),
       wrote(kernel + ".cpp", played.kernel)},
      {"[TIME] Compilation took 3.21s\n"},
      {played.variant == "wrong" ? kWrong : kRight},
      {profiled(played.variant)},
  };
}

std::string teacher_corpus(const std::string& task_id, const std::string& model_py,
                           const TeacherDeck& deck) {
  std::string corpus;
  for (std::size_t card = 0; card < deck.cards.size(); ++card) {
    corpus += task_id + "\n";
    for (const auto& message : teacher_script(deck, card)) corpus += message + "\n";
    for (const auto& texts : typical_observations(model_py, deck, card))
      for (const auto& text : texts) corpus += text + "\n";
  }
  return corpus;
}

TrajectorySize trajectory_size(const Renderer& renderer, const std::string& task_id,
                               const std::string& model_py, const TeacherDeck& deck,
                               std::size_t card) {
  TrajectorySize size;
  size.tokens = renderer.opening(task_id, "/workspace/task").size();
  const auto script = teacher_script(deck, card);
  const auto shown = typical_observations(model_py, deck, card);
  for (std::size_t turn = 0; turn < script.size(); ++turn) {
    const auto said = renderer.message(script[turn]).size();
    size.sampled += said;
    size.tokens += said;
    if (turn < shown.size()) size.tokens += renderer.observations(shown[turn], true).size();
  }
  return size;
}

}  // namespace swage::rollout_worker
