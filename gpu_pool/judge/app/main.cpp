#include <cstdio>
#include <string_view>

#include "gpu_pool/judge/app/serve.hpp"

namespace {

constexpr std::string_view kHelp = R"(swage-judge: judges one candidate kernel

It is started by swage-gpu-worker and `swage judge`, which speak to it over a socket that is
descriptor 3 (gpu_pool/judge/api/session.hpp); it has no command line of its own.
To judge a solution by hand use `swage judge --task model.py --solution DIR`.

Exit codes: 0 a verdict was delivered; 64 not started as described; 70 a bug.
)";

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    const bool asked = std::string_view(argv[1]) == "--help";
    std::fputs(kHelp.data(), asked ? stdout : stderr);
    return asked ? 0 : 64;
  }
  return swage::judge::serve(swage::judge::Guards{}, {});
}
