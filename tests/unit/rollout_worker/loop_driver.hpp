#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "rollout_worker/core/agent_loop.hpp"
#include "tests/unit/rollout_worker/byte_renderer.hpp"

namespace swage::rollout_worker::test {

inline Assignment assignment() {
  Assignment a;
  a.key = {RolloutId("abcd1234-agentic-0-0"), 1};
  a.task = {"softmax", std::string(64, 'a'), ""};
  a.limits.context_tokens = 4096;
  a.limits.turn_tokens = 1024;
  return a;
}

inline PackedWork work(std::string digest) {
  return {std::string(64, 'b'), std::make_shared<const std::string>("bundle"), std::move(digest),
          true};
}

inline Judgement verdict(EvaluationMode mode, std::string code, std::optional<double> reward) {
  Judgement judgement;
  judgement.mode = mode;
  judgement.code = std::move(code);
  judgement.reward = reward;
  judgement.trust = "full";
  judgement.gpu = "gpu-" + judgement.code;
  return judgement;
}

/// An AgentLoop whose work directory is laid, and the actions it asked for.
class LoopDriver {
 public:
  explicit LoopDriver(const std::function<void(Assignment&)>& change = {}) {
    auto a = assignment();
    if (change) change(a);
    loop_ = std::make_unique<AgentLoop>(std::move(a), renderer, 0, now);
    on(event::SandboxOpened{{"full", {}}});
    on(WorkLaid{"digest-a", "/workspace/task"});
  }
  AgentLoop* operator->() { return loop_.get(); }

  void on(LoopEvent event) {
    for (auto& action : loop_->on(std::move(event), now)) actions_.push_back(std::move(action));
  }
  void advance(Duration by) { now += by; }

  /// The policy says `text`, ended by the stop id unless it was cut.
  void say(const std::string& text, std::uint64_t version = 1,
           MessageEnd end = MessageEnd::stop_id) {
    drop<action::Generate>();
    PolicyMessage message;
    message.ids = end == MessageEnd::stop_id ? renderer.message(text) : renderer.encode(text);
    message.behaviour_logprobs.assign(message.ids.size(), -0.5F);
    message.runs = {{static_cast<std::uint32_t>(message.ids.size()), version}};
    message.end = end;
    on(event::PolicySpoke{std::move(message), {"config", renderer.tokenizer_digest()}});
  }
  void result(std::uint64_t id, std::string text, std::string digest = "digest-a",
              bool schema_valid = true) {
    ToolOutcome outcome;
    outcome.id = id;
    outcome.schema_valid = schema_valid;
    outcome.ok = schema_valid;
    outcome.text = std::move(text);
    outcome.work_digest = std::move(digest);
    on(std::move(outcome));
  }
  void turn(const std::string& text, std::string observation, std::uint64_t version = 1) {
    say(text, version);
    result(take_order<ToolCall>().id, std::move(observation));
  }
  void score_final(Judgement judgement) {
    on(WorkPacked{take_order<PackOrder>().id, work("digest-z")});
    on(event::Judged{take<action::Evaluate>().number, std::move(judgement)});
  }
  RolloutDone finish_with(Judgement judgement) {
    score_final(std::move(judgement));
    take<action::Deliver>();
    on(event::Delivered{{SubmitAnswer::accepted, ""}});
    return take<action::End>().done;
  }

  template <class A>
  bool has() const {
    for (const auto& action : actions_)
      if (std::holds_alternative<A>(action)) return true;
    return false;
  }
  /// The first action of this kind; removed.
  template <class A>
  A take() {
    for (auto at = actions_.begin(); at != actions_.end(); ++at) {
      if (!std::holds_alternative<A>(*at)) continue;
      auto action = std::get<A>(std::move(*at));
      actions_.erase(at);
      return action;
    }
    ADD_FAILURE() << "no such action";
    return {};
  }
  template <class O>
  bool has_order() const {
    for (const auto& action : actions_)
      if (const auto* tell = std::get_if<action::Tell>(&action);
          tell && std::holds_alternative<O>(tell->order))
        return true;
    return false;
  }
  template <class O>
  O take_order() {
    for (auto at = actions_.begin(); at != actions_.end(); ++at) {
      auto* tell = std::get_if<action::Tell>(&*at);
      if (!tell || !std::holds_alternative<O>(tell->order)) continue;
      auto order = std::get<O>(std::move(tell->order));
      actions_.erase(at);
      return order;
    }
    ADD_FAILURE() << "no such order";
    return {};
  }

  ByteRenderer renderer;
  TimePoint now{std::chrono::hours(1)};

 private:
  template <class A>
  void drop() {
    std::erase_if(actions_, [](const Action& a) { return std::holds_alternative<A>(a); });
  }
  std::unique_ptr<AgentLoop> loop_;
  Actions actions_;
};

}  // namespace swage::rollout_worker::test
