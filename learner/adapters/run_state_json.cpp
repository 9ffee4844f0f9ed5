#include "learner/adapters/run_state_json.hpp"

#include <nlohmann/json.hpp>

#include "common/base/json_text.hpp"

namespace swage::learner {
namespace {

using nlohmann::json;

constexpr int kSchema = 2;  // 2: what a guardrail held back, and the pause

json optional_number(const std::optional<double>& value) {
  return value ? json(*value) : json(nullptr);
}

std::optional<double> number_at(const json& object, const char* name) {
  const auto& value = object.at(name);
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

json guard_json(const Guardrails::State& state) {
  json signals = json::object();
  for (std::size_t i = 0; i < kSignals; ++i)
    signals[std::string(to_string(static_cast<Signal>(i)))] = {
        {"alerting", state.signals[i].alerting},
        {"clear_steps", state.signals[i].clear_steps},
        {"acts", state.signals[i].acts}};
  return {{"signals", signals},
          {"reward_average", optional_number(state.reward_average)},
          {"best_average", optional_number(state.best_average)},
          {"first_entropies", state.first_entropies},
          {"cooldown", state.cooldown},
          {"rollbacks", state.rollbacks}};
}

json pause_json(const std::optional<Pause>& pause) {
  if (!pause) return nullptr;
  return {{"id", pause->id}, {"reason", pause->reason}, {"message", pause->message}};
}

std::optional<Pause> pause_from(const json& object) {
  if (object.is_null()) return std::nullopt;
  return Pause{object.at("id").get<std::string>(), object.at("reason").get<std::string>(),
               object.at("message").get<std::string>()};
}

Guardrails::State guard_from(const json& object) {
  Guardrails::State state;
  for (std::size_t i = 0; i < kSignals; ++i) {
    const auto& signal = object.at("signals").at(std::string(to_string(static_cast<Signal>(i))));
    state.signals[i].alerting = signal.at("alerting").get<bool>();
    state.signals[i].clear_steps = signal.at("clear_steps").get<std::uint32_t>();
    state.signals[i].acts = signal.at("acts").get<std::vector<std::uint8_t>>();
  }
  state.reward_average = number_at(object, "reward_average");
  state.best_average = number_at(object, "best_average");
  state.first_entropies = object.at("first_entropies").get<std::vector<double>>();
  state.cooldown = object.at("cooldown").get<std::uint32_t>();
  state.rollbacks = object.at("rollbacks").get<std::uint32_t>();
  return state;
}

}  // namespace

std::string to_text(const RunState& state, const RunIdentity& identity) {
  const json object{{"schema_version", kSchema},
                    {"run_uid", identity.run_uid},
                    {"config_digest", identity.config_digest},
                    {"tokenizer_digest", identity.tokenizer_digest},
                    {"stage", std::string(to_string(state.slot.stage))},
                    {"round", state.slot.round},
                    {"serial", state.serial},
                    {"step", state.step},
                    {"weight_version", state.weight_version},
                    {"unpublished", state.unpublished},
                    {"pause", pause_json(state.pause)},
                    {"reward_mean", optional_number(state.reward_mean)},
                    {"reward_after_rft", optional_number(state.reward_after_rft)},
                    {"reward_final", optional_number(state.reward_final)},
                    {"critic_history", state.critic_history},
                    {"critic_monte_carlo", optional_number(state.critic_monte_carlo)},
                    {"passed_over",
                     {{"empty_steps", state.passed_over.empty_steps},
                      {"unwhitened_steps", state.passed_over.unwhitened_steps},
                      {"missing_logprobs", state.passed_over.missing_logprobs}}},
                    {"cancelled_groups", state.cancelled_groups},
                    {"guard", guard_json(state.guard)},
                    {"csv_bytes", state.csv_bytes},
                    {"log_next", state.log_next}};
  return json_text(object, 1) + "\n";
}

Result<SavedState, std::string> saved_state_from(const std::string& text) {
  try {
    const auto object = json::parse(text);
    const auto version = object.at("schema_version").get<int>();
    if (version != kSchema && version != kSchema - 1)
      return tl::unexpected("schema_version is " + std::to_string(version) + ", known are " +
                            std::to_string(kSchema - 1) + " and " + std::to_string(kSchema));
    const auto stage = stage_from(object.at("stage").get<std::string>());
    if (!stage) return tl::unexpected(std::string("stage is unknown"));
    SavedState out;
    out.identity = {object.at("run_uid").get<std::string>(),
                    object.at("config_digest").get<std::string>(),
                    object.at("tokenizer_digest").get<std::string>()};
    auto& state = out.state;
    state.slot = {*stage, object.at("round").get<std::uint32_t>()};
    state.serial = object.at("serial").get<std::uint64_t>();
    state.step = object.at("step").get<std::uint64_t>();
    state.weight_version = object.at("weight_version").get<std::uint64_t>();
    state.reward_mean = number_at(object, "reward_mean");
    state.reward_after_rft = number_at(object, "reward_after_rft");
    state.reward_final = number_at(object, "reward_final");
    state.critic_history = object.at("critic_history").get<std::vector<double>>();
    state.guard = guard_from(object.at("guard"));
    state.csv_bytes = object.at("csv_bytes").get<std::uint64_t>();
    state.log_next = object.at("log_next").get<std::uint64_t>();
    if (version >= 2) {
      state.unpublished = object.at("unpublished").get<bool>();
      state.critic_monte_carlo = number_at(object, "critic_monte_carlo");
      const auto& passed = object.at("passed_over");
      state.passed_over = {passed.at("empty_steps").get<std::uint64_t>(),
                           passed.at("unwhitened_steps").get<std::uint64_t>(),
                           passed.at("missing_logprobs").get<std::uint64_t>()};
      state.cancelled_groups = object.at("cancelled_groups").get<std::vector<std::uint64_t>>();
      state.pause = pause_from(object.at("pause"));
    }
    return out;
  } catch (const json::exception& e) {
    return tl::unexpected(std::string(e.what()));
  }
}

}  // namespace swage::learner
