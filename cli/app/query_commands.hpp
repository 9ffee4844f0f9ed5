#pragma once

#include <string>

namespace swage::cli {

struct QueryOptions {
  std::string server;
  std::string out;
  bool json = false;
};

/// `swage status [RUN]`: every run of the system, or one in full.
int status_command(const QueryOptions& options, const std::string& run);

/// `swage show [ROLLOUT]`: one trajectory to read, or the list of them. A local run that has ended
/// is read from its log.
int show_command(const QueryOptions& options, const std::string& rollout);

/// `swage resume RUN`: ends a guardrail's pause, a suspension, or both.
int resume_command(const QueryOptions& options, const std::string& run);

/// `swage suspend RUN`: running rollouts end, and no new ones start.
int suspend_command(const QueryOptions& options, const std::string& run);

}  // namespace swage::cli
