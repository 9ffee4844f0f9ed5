#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.hpp"

namespace swage::rollout_worker {

/// A task's deck: kernels of different quality that the scripted teacher deals.
struct TeacherDeck {
  struct Card {
    std::string variant;  ///< wrong, slow, eager, fast, …
    std::string kernel;   ///< text of kernels/<name>.cpp
  };
  std::string name;       ///< of the kernel: letters only
  std::string model_new;  ///< text of model_new.py
  std::string binding;    ///< text of kernels/<name>_binding.cpp
  std::vector<Card> cards;
};

/// Everything the teacher says when it plays one card, message by message: read the reference,
/// write the files, compile, verify, profile, finish. Pure. Texts hold Hermes tool calls in
/// canonical JSON; the last one holds none.
std::vector<std::string> teacher_script(const TeacherDeck& deck, std::size_t card);

}  // namespace swage::rollout_worker
