// swage-judge-testing: the judge with guards that can be switched off, for tests alone. Its
// verdicts say trust=reduced(testing).
//   swage-judge-testing --guard-off=NAME,NAME    or --guard-off=@FILE, read at every start
#include <cstdio>
#include <string>

#include "common/base/files.hpp"
#include "gpu_pool/judge/app/serve.hpp"
#include "tests/attacks/guard_names.hpp"

int main(int argc, char** argv) {
  const std::string option = argc == 2 ? argv[1] : "";
  const std::string name = "--guard-off=";
  if (!option.starts_with(name)) {
    std::fprintf(stderr, "usage: swage-judge-testing --guard-off=NAME,NAME or =@FILE\n");
    return 64;
  }
  std::string list = option.substr(name.size());
  if (list.starts_with('@')) list = swage::read_file(list.substr(1)).value_or("?");
  const auto guards = swage::attacks::guards_without(list);
  if (!guards) {
    std::fprintf(stderr, "swage-judge-testing: no guard is called '%s'\n", guards.error().c_str());
    return 64;
  }
  return swage::judge::serve(*guards, {"testing"});
}
