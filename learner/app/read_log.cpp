#include "learner/app/read_log.hpp"

#include <iostream>
#include <nlohmann/json.hpp>
#include <span>

#include "common/base/exit_code.hpp"
#include "common/base/json_text.hpp"
#include "common/view/trajectory_json.hpp"
#include "learner/adapters/log_index.hpp"
#include "policy/tokenizer/tokenizer.hpp"

namespace swage::learner {
namespace {

int failed(const std::string& what) {
  std::cerr << "swage-learner: " << what << '\n';
  return exit_code::kMissing;
}

v1::TrajectoryLine line_of(std::uint64_t seq, const v1::Trajectory& trajectory) {
  v1::TrajectoryLine line;
  line.set_seq(seq);
  line.set_rollout_id(trajectory.rollout_id());
  line.set_attempt(trajectory.attempt());
  line.set_stage(trajectory.stage());
  line.set_task_id(trajectory.task_id());
  line.set_stop_reason(trajectory.stop_reason());
  line.set_turns(static_cast<std::uint32_t>(trajectory.turns_size()));
  line.set_tokens(static_cast<std::uint32_t>(trajectory.token_ids_size()));
  double reward = 0;
  for (const auto& entry : trajectory.rewards()) reward += entry.value();
  if (trajectory.rewards_size() > 0) line.set_reward(reward);
  line.set_infrastructure(!trajectory.infrastructure_failure().empty());
  return line;
}

}  // namespace

int print_log(const std::filesystem::path& out, const std::string& rollout,
              const std::filesystem::path& tokenizer) {
  const auto directory = out / "learner" / "log";
  if (!std::filesystem::is_directory(directory))
    return failed(directory.string() + " does not exist: name a run's directory");
  const auto index = index_log(directory);
  if (!index) return failed(index.error().message);
  const auto words = policy::Tokenizer::load(tokenizer);
  if (!words) return failed(words.error().message);
  const auto decode = [&](std::span<const std::uint32_t> ids) { return words->decode(ids); };
  auto lines = nlohmann::json::array();
  for (const auto& frame : index->frames) {
    if (frame.type != FrameType::trajectory) continue;
    const auto record = read_record(*index, frame.seq);
    if (!record) return failed(record.error().message);
    v1::Trajectory trajectory;
    if (!trajectory.ParseFromString(record->payload))
      return failed("record " + std::to_string(frame.seq) + " is no trajectory");
    if (rollout.empty()) {
      lines.push_back(trajectory_line_json(line_of(frame.seq, trajectory)));
    } else if (trajectory.rollout_id() == rollout && trajectory.infrastructure_failure().empty()) {
      std::cout << json_text(trajectory_json(trajectory, decode)) << '\n';
      return 0;
    }
  }
  if (!rollout.empty()) return failed("no trajectory " + rollout + " in " + directory.string());
  std::cout << json_text(lines) << '\n';
  return 0;
}

}  // namespace swage::learner
