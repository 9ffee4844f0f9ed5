#include "gpu_pool/judge/app/serve.hpp"

#include <csignal>
#include <cstdio>
#include <utility>

#include "common/base/exit_code.hpp"
#include "gpu_pool/judge/adapters/turn.hpp"
#include "gpu_pool/judge/app/evaluation.hpp"
#include "gpu_pool/judge/app/session.hpp"

namespace swage::judge {

namespace {

/// The verdict where nothing could be tried.
std::string refusal(const Assignment& assignment, const std::string& why) {
  VerdictRecord record;
  record.ending = {Code::infra_error, why};
  record.phase = "load";
  record.device_kind = assignment.begin.request.device;
  record.missing_layers = assignment.begin.missing_layers;
  return encode_verdict(assignment.begin.request, record);
}

}  // namespace

int serve(const Guards& guards, const std::vector<std::string>& missing_layers) {
  std::signal(SIGPIPE, SIG_IGN);
  Session session(Descriptor{kSessionDescriptor});
  auto assignment = session.begin();
  if (!assignment) {
    std::fprintf(stderr, "swage-judge: %s\n", assignment.error().c_str());
    return exit_code::kBadInput;
  }
  auto& layers = assignment->begin.missing_layers;
  layers.insert(layers.end(), missing_layers.begin(), missing_layers.end());
  const auto turn = wait_for_turn(assignment->begin.host_cores);
  const auto machine = Machine::make(assignment->begin);
  if (!machine) {
    const auto sent = session.verdict(refusal(*assignment, machine.error()));
    return sent ? 0 : 1;
  }
  Evaluation evaluation(session, std::move(*assignment), **machine, guards);
  const auto sent = session.verdict(evaluation.run());
  return sent ? 0 : 1;
}

}  // namespace swage::judge
