#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "common/base/check.hpp"
#include "common/config/yaml.hpp"
#include "controller/adapters/run_file.hpp"

/// A TrainingRun that somebody wrote: read, or refused with at least one complaint.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto run = swage::controller::parse_run_file(text, "run.yaml");
  if (!run) swage::check(!run.error().complaints.empty(), "refused without a complaint");
  std::ignore = swage::parse_yaml(text, "run.yaml");
  return 0;
}
