#include "gpu_pool/judge/app/endings.hpp"

#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <sstream>

#include "common/asio/process.hpp"

namespace swage::judge {
namespace {

using Kind = HostFailure::Kind;

Ending candidate_words(const HostFailure& failure) {
  const std::string last = error_line(failure.message);
  if (failure.category == "memory") return {Code::oom, "the candidate ran out of memory: " + last};
  if (failure.category == "policy") {
    Ending out{Code::policy_violation, last};
    out.rule = "dispatch";
    return out;
  }
  if (failure.category == "fault")
    return {Code::gpu_fault, "forward broke the device's rules: " + last};
  if (failure.category == "metadata") return {Code::wrong_metadata, last};
  if (failure.stage == "load") return {Code::load_error, "model_new.py does not load: " + last};
  if (failure.stage == "weights") return {Code::load_error, "load_state_dict failed: " + last};
  return {Code::crash, "forward raised " + last};
}

}  // namespace

std::string error_line(const std::string& text) {
  std::istringstream lines(text);
  std::string named, last;
  bool after_frames = false;  // the line before belongs to a frame
  for (std::string line; std::getline(lines, line);) {
    line.erase(line.find_last_not_of(" \t") + 1);
    if (line.empty()) continue;
    last = line;
    const bool frame = line.front() == ' ' || line.starts_with("Traceback (");
    if (!frame && after_frames) named = line;
    after_frames = frame;
  }
  return named.empty() ? last : named;
}

Ending candidate_ending(const HostFailure& failure) {
  switch (failure.kind) {
    case Kind::died:
      // Nobody but the kernel sends SIGKILL to it: its control group was full.
      if (failure.memory_full ||
          (WIFSIGNALED(failure.wait_status) && WTERMSIG(failure.wait_status) == SIGKILL))
        return {Code::oom, "the candidate's process ended at its memory limit"};
      return {Code::crash,
              "the candidate's process ended with " + describe_status(failure.wait_status)};
    case Kind::timed_out:
      return {Code::timeout, "the candidate took too long (" + failure.stage + ")"};
    case Kind::failed:
      return candidate_words(failure);
    case Kind::protocol:
      return {Code::protocol_error, failure.message};
  }
  return {};
}

Ending task_ending(const HostFailure& failure) {
  switch (failure.kind) {
    case Kind::died:
      if (WIFSIGNALED(failure.wait_status) && WTERMSIG(failure.wait_status) == SIGKILL)
        return {Code::infra_error, "a host of the task was killed"};
      if (failure.memory_full)
        return {Code::task_invalid, "the task needs more memory than there is"};
      return {Code::task_invalid,
              "the task's process ended with " + describe_status(failure.wait_status)};
    case Kind::timed_out:
      return {Code::task_invalid, "the task took too long (" + failure.stage + ")"};
    case Kind::failed:
      if (failure.category == "memory")
        return {Code::task_invalid,
                "the task needs more memory than there is: " + error_line(failure.message)};
      return {Code::task_invalid,
              "the task failed (" + failure.stage + "): " + error_line(failure.message)};
    case Kind::protocol:
      return {Code::infra_error, failure.message};
  }
  return {};
}

}  // namespace swage::judge
