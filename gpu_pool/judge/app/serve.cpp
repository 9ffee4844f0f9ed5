#include "gpu_pool/judge/app/serve.hpp"

#include <csignal>
#include <cstdio>
#include <utility>

#include "gpu_pool/judge/adapters/turn.hpp"
#include "gpu_pool/judge/app/evaluation.hpp"
#include "gpu_pool/judge/app/session.hpp"

namespace swage::judge {

int serve(const Guards& guards, const std::vector<std::string>& missing_layers) {
  std::signal(SIGPIPE, SIG_IGN);
  Session session(Descriptor{kSessionDescriptor});
  auto assignment = session.begin();
  if (!assignment) {
    std::fprintf(stderr, "swage-judge: %s\n", assignment.error().c_str());
    return 64;
  }
  auto& layers = assignment->begin.missing_layers;
  layers.insert(layers.end(), missing_layers.begin(), missing_layers.end());
  const auto turn = wait_for_turn(assignment->begin.host_cores);
  Evaluation evaluation(session, std::move(*assignment), guards);
  const auto sent = session.verdict(evaluation.run());
  return sent ? 0 : 1;
}

}  // namespace swage::judge
