#include "tests/attacks/guard_names.hpp"

#include <map>

namespace swage::attacks {
namespace {

using judge::Guards;

const std::map<std::string, bool Guards::*, std::less<>>& switches() {
  static const std::map<std::string, bool Guards::*, std::less<>> kSwitches{
      {"fresh", &Guards::fresh},
      {"seed", &Guards::seed},
      {"readonly", &Guards::readonly},
      {"held", &Guards::held},
      {"exact", &Guards::exact},
      {"finite", &Guards::finite},
      {"hidden", &Guards::hidden},
      {"timed", &Guards::timed},
      {"weights", &Guards::weights},
      {"guardalloc", &Guards::guardalloc},
      {"admission", &Guards::admission},
      {"symbols", &Guards::symbols},
      {"ast", &Guards::ast},
      {"dispatch", &Guards::dispatch},
      {"ghost", &Guards::ghost},
      {"workspace", &Guards::workspace},
      {"counted", &Guards::counted},
      {"window", &Guards::window},
      {"deadline", &Guards::deadline},
      {"ns", &Guards::ns},
      {"seccomp", &Guards::seccomp}};
  return kSwitches;
}

}  // namespace

const std::vector<std::string>& guard_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const auto& [name, member] : switches()) names.push_back(name);
    return names;
  }();
  return kNames;
}

Result<Guards, std::string> guards_without(std::string_view list) {
  Guards guards;
  while (!list.empty()) {
    const auto name = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), name.size() + 1));
    const auto found = switches().find(name);
    if (found == switches().end()) return tl::unexpected(std::string(name));
    guards.*found->second = false;
  }
  return guards;
}

}  // namespace swage::attacks
