#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "common/config/fields.hpp"
#include "controller/api/resources.hpp"

namespace swage::controller {

/// Reads a file of one TrainingRun and at most one ProfilingPool (`swage.dev/v1alpha1`), the same
/// objects that the Kubernetes API takes. The schema is closed; defaults come from `spec.preset`.
/// Without a pool a Fixed one of size 1 is made. What only a cluster uses is ignored; both stand in
/// `notices`. Errors: every complaint names file, line, field and remedy.
Result<RunFile, ConfigError> read_run_file(const std::filesystem::path& file);

/// The same for a text; `name` stands in the complaints.
Result<RunFile, ConfigError> parse_run_file(std::string_view text, const std::string& name);

}  // namespace swage::controller
