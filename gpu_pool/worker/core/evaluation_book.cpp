#include "gpu_pool/worker/core/evaluation_book.hpp"

#include <algorithm>

namespace swage::worker {
namespace {

using namespace std::chrono_literals;

constexpr auto kKeepVerdict = 10min;

}  // namespace

EvaluationBook::Answer EvaluationBook::accept(lease::Token token, const lease::RequestId& request,
                                              Duration valid_for, TimePoint now) {
  if (draining_ && !(current_ && current_->token == token)) return Answer::draining;
  switch (fence_.evaluate(token, request)) {
    case Fence::Answer::stale:
      return Answer::stale;
    case Fence::Answer::duplicate:
      return Answer::duplicate;
    case Fence::Answer::attach:
      if (current_ && current_->ended && now - *current_->ended > kKeepVerdict)
        return Answer::stale;
      extend(token, valid_for, now);
      return Answer::attach;
    case Fence::Answer::start:
      break;
  }
  current_ = Current{token, now + valid_for, TimePoint::max(), {}};
  return Answer::start;
}

void EvaluationBook::extend(lease::Token token, Duration valid_for, TimePoint now) {
  auto* const at = open_one();
  if (at == nullptr || at->token != token) return;
  at->lease_ends = std::max(at->lease_ends, now + valid_for);
}

void EvaluationBook::judging(Duration limit, TimePoint now) {
  if (auto* const at = open_one()) at->limit = now + limit;
}

void EvaluationBook::ended(TimePoint now) {
  if (auto* const at = open_one()) at->ended = now;
}

TimePoint EvaluationBook::next_check() const {
  const auto* const at = open_one();
  return at != nullptr ? std::min(at->lease_ends, at->limit) : TimePoint::max();
}

std::optional<EvaluationBook::Overdue> EvaluationBook::overdue(TimePoint now) const {
  const auto* const at = open_one();
  if (at == nullptr) return std::nullopt;
  if (now >= at->lease_ends) return Overdue::lease;
  if (now >= at->limit) return Overdue::time_limit;
  return std::nullopt;
}

bool EvaluationBook::clear(lease::Token token) {
  fence_.clear(token);
  const auto* const at = open_one();
  return at != nullptr && at->token <= token;
}

bool EvaluationBook::registered(lease::Token newest, bool restored,
                                std::optional<lease::Token> reported) {
  if (restored) return false;
  fence_.registered(newest);
  const auto* const at = open_one();
  return at != nullptr && reported && at->token == *reported;
}

}  // namespace swage::worker
