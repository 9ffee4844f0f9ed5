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

/// `swage resume RUN`: ends a guardrail's pause. suspend: `swage suspend RUN`.
int resume_command(const QueryOptions& options, const std::string& run, bool suspend);

}  // namespace swage::cli
