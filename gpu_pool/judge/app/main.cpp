#include <csignal>
#include <cstdio>
#include <string_view>

#include "gpu_pool/judge/adapters/turn.hpp"
#include "gpu_pool/judge/app/evaluation.hpp"
#include "gpu_pool/judge/app/session.hpp"

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
  std::signal(SIGPIPE, SIG_IGN);
  swage::judge::Session session(swage::Descriptor{swage::judge::kSessionDescriptor});
  auto assignment = session.begin();
  if (!assignment) {
    std::fprintf(stderr, "swage-judge: %s\n", assignment.error().c_str());
    return 64;
  }
  const auto turn = swage::judge::wait_for_turn(assignment->begin.host_cores);
  swage::judge::Evaluation evaluation(session, std::move(*assignment));
  const auto sent = session.verdict(evaluation.run());
  return sent ? 0 : 1;
}
