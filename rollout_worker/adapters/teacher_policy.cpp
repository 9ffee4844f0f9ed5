#include "rollout_worker/adapters/teacher_policy.hpp"

#include <utility>

#include "common/log/log.hpp"
#include "rollout_worker/adapters/deck_files.hpp"

namespace swage::rollout_worker {
namespace {

class TeacherSession final : public PolicySession {
 public:
  TeacherSession(const Renderer& renderer, std::filesystem::path folder, std::size_t card)
      : renderer_(renderer), folder_(std::move(folder)), card_(card) {}

  Task<Result<PolicyMessage, PolicyErrc>> generate(std::vector<std::uint32_t> /*append*/,
                                                   std::uint32_t max_tokens, TimePoint /*deadline*/,
                                                   StopSource& stop) override {
    if (stop.stopping()) co_return tl::unexpected(PolicyErrc::cancelled);
    if (script_.empty() && !learn_script()) co_return tl::unexpected(PolicyErrc::incompatible);
    if (said_ == script_.size()) co_return tl::unexpected(PolicyErrc::incompatible);
    PolicyMessage message;
    message.ids = renderer_.message(script_[said_++]);
    if (message.ids.size() > max_tokens) {
      message.ids.resize(max_tokens);
      message.end = MessageEnd::max_tokens;
    }
    co_return message;
  }
  PolicyIdentity identity() const override { return {"", renderer_.tokenizer_digest()}; }
  Task<> close() override { co_return; }

 private:
  bool learn_script() {
    const auto deck = read_deck(folder_);
    if (!deck) {
      log_error("the teacher has no deck", {{"why", deck.error()}});
      return false;
    }
    if (card_ >= deck->cards.size()) {
      log_error("the teacher's deck lacks a card",
                {{"deck", folder_.string()}, {"card", card_}, {"cards", deck->cards.size()}});
      return false;
    }
    script_ = teacher_script(*deck, card_);
    return true;
  }

  const Renderer& renderer_;
  const std::filesystem::path folder_;
  const std::size_t card_;
  std::vector<std::string> script_;
  std::size_t said_ = 0;
};

class Teacher final : public PolicyDirectory {
 public:
  Teacher(const Renderer& renderer, std::filesystem::path tasks)
      : renderer_(renderer), tasks_(std::move(tasks)) {}
  std::unique_ptr<PolicySession> open(const Assignment& assignment) override {
    return std::make_unique<TeacherSession>(renderer_, tasks_ / assignment.task.id,
                                            assignment.teacher_card);
  }

 private:
  const Renderer& renderer_;
  const std::filesystem::path tasks_;
};

}  // namespace

std::unique_ptr<PolicyDirectory> make_teacher(const Renderer& renderer,
                                              std::filesystem::path tasks) {
  return std::make_unique<Teacher>(renderer, std::move(tasks));
}

}  // namespace swage::rollout_worker
