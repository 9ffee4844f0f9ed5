#include "controller/adapters/command_output.hpp"

#include <array>
#include <cstdio>

namespace swage::controller {
namespace {

std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

CommandOutput command_output(const std::vector<std::string>& command) {
  std::string line;
  for (const auto& word : command) line += quoted(word) + " ";
  CommandOutput out;
  std::FILE* pipe = ::popen((line + "2>&1").c_str(), "re");
  if (pipe == nullptr) return out;
  std::array<char, 4096> block{};
  for (std::size_t got = 0; (got = std::fread(block.data(), 1, block.size(), pipe)) > 0;)
    out.text.append(block.data(), got);
  out.status = ::pclose(pipe);
  while (out.text.ends_with('\n')) out.text.pop_back();
  return out;
}

}  // namespace swage::controller
