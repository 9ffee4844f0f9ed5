// AgentLoop: policy messages, tool calls and observations.
#include <algorithm>
#include <utility>

#include "common/base/digest.hpp"
#include "rollout_worker/core/agent_loop.hpp"
#include "rollout_worker/core/observation.hpp"
#include "sandbox/api/tool_schema.hpp"

namespace swage::rollout_worker {
namespace {

std::uint32_t milliseconds(Duration duration) {
  return static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

/// Equal for equal calls: defaults left out, keys sorted. What the schema does not take is digested
/// as it was written.
std::string arguments_digest(const ParsedCall& call) {
  if (!call.well_formed()) return sha256_hex(call.raw);
  const auto canonical = sandbox::validate_tool_call(call.name, call.arguments);
  return sandbox::tool_call_digest(call.name, canonical ? *canonical : call.arguments);
}

std::string cut_message(std::size_t tokens) {
  return "Your message was cut after " + std::to_string(tokens) +
         " tokens, before a complete tool call. Write shorter messages.";
}

}  // namespace

void AgentLoop::speak(TimePoint now) {
  const auto context = assignment_.limits.context_tokens;
  if (transcript_.size() >= context) return finish(EndReason::context_full, now);
  turn_began_ = now;
  enter(State::speaking, Phase::running);
  const auto most = std::min(assignment_.limits.turn_tokens, context - transcript_.size());
  act(action::Generate{transcript_.take_unseen(), most});
}

void AgentLoop::take_message(PolicyMessage message, TimePoint now) {
  const auto begin = transcript_.size();
  if (!transcript_.append_sampled(message)) return fail("policy_bad_reply", now);
  if (message.ids.empty()) {
    if (cut_) return finish(*cut_, now);
    if (message.end == MessageEnd::context_limit) return finish(EndReason::context_full, now);
    return fail("policy_bad_reply", now);  // max_tokens is at least one
  }
  TurnRecord turn;
  turn.policy_begin = begin;
  turn.policy_end = turn.observation_end = transcript_.size();
  turn.work_digest = work_digest_;
  turn.observation_digest = observation_digest({});
  turns_.push_back(std::move(turn));
  turns_.back().wall_ms = milliseconds(now - turn_began_);
  if (cut_) return finish(*cut_, now);

  message_ended_ = message.end == MessageEnd::stop_id;
  if (message.end == MessageEnd::context_limit ||
      (!message_ended_ && transcript_.size() >= assignment_.limits.context_tokens))
    return finish(EndReason::context_full, now);
  HermesParser parser;
  parser.feed(renderer_.message_text(message.ids));
  calls_ = parser.finish();
  next_call_ = 0;
  texts_.clear();
  if (calls_.empty() && !message_ended_) {
    ParsedCall cut;
    cut.error = cut_message(message.ids.size());
    calls_.push_back(std::move(cut));
  }
  if (calls_.empty()) return finish(EndReason::no_tool_call, now);
  enter(State::acting, Phase::running);
  run_next_call(now);
}

void AgentLoop::run_next_call(TimePoint now) {
  for (; next_call_ < calls_.size(); ++next_call_) {
    const auto& call = calls_[next_call_];
    if (call.well_formed()) {
      act(action::Tell{ToolCall{++last_order_, call.name, call.arguments}});
      return;
    }
    if (!note_call(call, false, call.error)) {
      close_turn(now);
      return finish(EndReason::schema_violation, now);
    }
  }
  if (!close_turn(now)) return finish(EndReason::context_full, now);
  if (assignment_.no_agent_loop) return finish(EndReason::no_tool_call, now);
  if (turns_.size() >= assignment_.limits.turns) return finish(EndReason::turn_limit, now);
  speak(now);
}

/// Keeps what a call brought. False: the third malformed call in a row.
bool AgentLoop::note_call(const ParsedCall& call, bool schema_valid, std::string text) {
  turns_.back().calls.push_back({call.name, arguments_digest(call), schema_valid});
  texts_.push_back(std::move(text));
  malformed_in_row_ = schema_valid ? 0 : malformed_in_row_ + 1;
  return malformed_in_row_ < kMalformedInARow;
}

void AgentLoop::handle(ToolOutcome outcome, TimePoint now) {
  if (state_ != State::acting || outcome.id != last_order_) return;
  work_digest_ = outcome.work_digest;
  done_.compile_count += outcome.compile_count;
  done_.compile_units += outcome.compile_units;
  done_.compile_cache_hits += outcome.compile_cache_hits;
  const bool go_on = note_call(calls_[next_call_], outcome.schema_valid, std::move(outcome.text));
  ++next_call_;
  if (cut_) {
    close_turn(now);
    return finish(*cut_, now);
  }
  if (!go_on) {
    close_turn(now);
    return finish(EndReason::schema_violation, now);
  }
  run_next_call(now);
}

/// Appends the observations. False: they leave no room for another message; then they are not
/// appended, and the record ends with the policy's words.
bool AgentLoop::close_turn(TimePoint now) {
  auto& turn = turns_.back();
  turn.wall_ms = milliseconds(now - turn_began_);
  turn.work_digest = work_digest_;
  turn.observation_digest = observation_digest(texts_);
  calls_.clear();
  if (assignment_.no_agent_loop) return true;  // the policy is shown nothing
  for (auto& text : texts_) text = capped(renderer_, text, assignment_.limits.observation_tokens);
  const auto ids = renderer_.observations(texts_, message_ended_);
  if (transcript_.size() + ids.size() >= assignment_.limits.context_tokens) return false;
  transcript_.append_context(ids);
  turn.observation_end = transcript_.size();
  return true;
}

}  // namespace swage::rollout_worker
