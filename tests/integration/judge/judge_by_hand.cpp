// Judges one solution from the command line, several times: for whoever works on the judge.
//   judge_by_hand MODE TASK.py SOLUTION_FOLDER LIBRARY.so [times]
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "common/base/files.hpp"
#include "tests/integration/judge/judge_bench.hpp"

int main(int argc, char** argv) {
  if (argc < 5) {
    std::cerr << "usage: judge_by_hand verify|profile|score TASK.py FOLDER LIBRARY.so [times]\n";
    return 64;
  }
  const std::string mode = argv[1];
  const auto asked = mode == "verify"    ? swage::judge::Mode::verify
                     : mode == "profile" ? swage::judge::Mode::profile
                                         : swage::judge::Mode::score;
  const auto task = swage::read_file(argv[2]);
  const auto library = swage::read_file(argv[4]);
  if (!task || !library) return 66;
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(argv[3]))
    if (entry.is_regular_file())
      files[entry.path().filename()] = swage::read_file(entry.path()).value_or("");
  swage::testing::JudgeBench bench;
  for (int i = 0; i < (argc > 5 ? std::atoi(argv[5]) : 1); ++i)
    std::cout << bench.judge(asked, *task, files, *library).DebugString() << "\n---\n"
              << std::flush;
  return 0;
}
