#include "gpu_pool/lease/app/lease_holder.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "common/log/log.hpp"

namespace swage::lease {
namespace {

using namespace std::chrono_literals;

constexpr auto kPoll = 5s;
constexpr auto kNoEpoch = 500ms;  // the leader acts once a second
constexpr auto kClosing = 2s;
constexpr std::size_t kPollSize = 256;
// Limits of a usual pool. This one's own are known to its queue alone, which enforces them; here
// they end a wait of which the queue has not said for so long that it goes on.
constexpr PoolSettings kUsual;
constexpr auto kCall = (kUsual.ttl - kUsual.margin) / 9;  // a third of a renewal interval
constexpr auto kLongestWait = kUsual.wait + 30s;          // and time for the queue's sweep

/// Owner's end of a HeldLease.
class OwnedLease final : public Lease {
 public:
  OwnedLease(HolderLoops& loops, std::shared_ptr<HeldLease> held)
      : loops_(loops), held_(std::move(held)) {}
  OwnedLease(const OwnedLease&) = delete;
  OwnedLease& operator=(const OwnedLease&) = delete;
  ~OwnedLease() override {
    held_->renewed = nullptr;
    if (!released_) loops_.drop(held_);
  }
  const GpuId& gpu() const override { return held_->grant.gpu; }
  const std::string& address() const override { return held_->grant.address; }
  Token token() const override { return held_->grant.token; }
  TimePoint usable_until() const override { return held_->usable_until; }
  StopSource& lost() override { return held_->lost; }
  std::optional<LeaseErrc> lost_because() const override { return held_->lost_because; }
  void on_renewed(std::function<void(TimePoint)> listener) override {
    held_->renewed = std::move(listener);
  }
  Task<bool> release(ReleaseAs how) override {
    released_ = true;
    return loops_.release(held_, how);
  }

 private:
  HolderLoops& loops_;
  std::shared_ptr<HeldLease> held_;
  bool released_ = false;
};

void lose(HeldLease& held, LeaseErrc why) {
  if (held.lost_because) return;
  held.lost_because = why;
  log_warning("lease lost",
              {{"request", held.grant.request}, {"gpu", held.grant.gpu}, {"why", to_string(why)}});
  held.lost.request(StopReason::fault);
}

HoldErrc hold_error(EndState state) {
  return state == EndState::timeout ? HoldErrc::waited : HoldErrc::lost;
}

}  // namespace

HolderLoops::HolderLoops(const asio::any_io_executor& strand, LeaseQueue& queue, Clock& clock)
    : strand_(strand),
      queue_(queue),
      clock_(clock),
      holds_changed_(strand),
      loops_(strand, stop_),
      tidy_(strand, background_) {
  queue_.on_grant([this](Grant grant) { heard(std::move(grant)); });
  std::ignore = loops_.spawn("lease poll", poll_loop());
}

Duration HolderLoops::jittered(Duration whole) {
  const double factor = std::uniform_real_distribution<>(0.5, 1.5)(random_);
  return std::chrono::duration_cast<Duration>(whole * factor);
}

TimePoint HolderLoops::call_deadline(std::optional<TimePoint> cut) const {
  TimePoint deadline = clock_.now() + kCall;
  if (cut) deadline = std::min(deadline, *cut);
  if (closing_until_) deadline = std::min(deadline, *closing_until_);
  return deadline;
}

Task<> HolderLoops::nap(Duration whole, StopSource& stop) {
  co_await clock_.sleep_until(clock_.now() + jittered(whole), stop);
}

Task<Result<std::unique_ptr<Lease>, HoldErrc>> HolderLoops::hold(HoldAsk ask, StopSource& stop) {
  if (stop_.stopping() || stop.stopping()) co_return tl::unexpected(HoldErrc::cancelled);
  StopSource either;
  const auto hook = stop.on_stop([&either] { either.request(StopReason::requested); });
  const auto own = stop_.on_stop([&either] { either.request(StopReason::requested); });
  const RequestId request = ask.request;
  const auto wait = std::make_shared<Wait>(strand_);
  waiting_[request] = wait;
  if (const auto early = early_.extract(request)) wait->grant = early.mapped();
  ++holds_;
  auto held = co_await wait_for(ask, either);
  const auto leftover = wait->grant;
  waiting_.erase(request);
  if (held && either.stopping()) {
    held = tl::unexpected(HoldErrc::cancelled);  // dropped here: released in the background
  } else if (!held && held.error() == HoldErrc::cancelled) {
    if (leftover) std::ignore = tidy_.spawn("release", let_go(*leftover));
    std::ignore = tidy_.spawn("withdraw", withdraw(request));
  }
  --holds_;
  holds_changed_.notify();
  co_return held;
}

Task<HolderLoops::Held> HolderLoops::wait_for(HoldAsk ask, StopSource& stop) {
  const auto wait = waiting_[ask.request];
  const TimePoint started = clock_.now();
  wait->heard = started;
  bool first = true;
  while (!stop.stopping()) {
    if (wait->grant) {
      auto claimed = co_await claim(*std::exchange(wait->grant, std::nullopt), stop);
      if (claimed) co_return std::move(*claimed);
      first = false;
    }
    const Duration age = clock_.now() - started;
    if (clock_.now() - wait->heard > kLongestWait) co_return tl::unexpected(HoldErrc::waited);
    wait->ask_again = false;
    auto answer = co_await queue_.acquire(ask, age, first, call_deadline());
    if (!answer && answer.error() == LeaseErrc::bad_reply)
      co_return tl::unexpected(HoldErrc::broken);
    if (answer || answer.error() == LeaseErrc::unanswered) first = false;
    if (!answer) {
      co_await nap(kNoEpoch, stop);
      continue;
    }
    if (const auto* ended = std::get_if<Ended>(&*answer))
      co_return tl::unexpected(hold_error(ended->state));
    if (std::holds_alternative<Closed>(*answer)) co_return tl::unexpected(HoldErrc::closed);
    if (const auto* full = std::get_if<QueueFull>(&*answer)) {
      co_await nap(full->retry, stop);
      first = true;  // the queue has not taken the request
      continue;
    }
    if (auto* grant = std::get_if<Grant>(&*answer)) wait->grant = std::move(*grant);
    wait->heard = clock_.now();
    while (!wait->grant && !wait->ask_again && !stop.stopping()) co_await wait->changed.wait(stop);
  }
  co_return tl::unexpected(HoldErrc::cancelled);
}

Task<std::optional<HolderLoops::Held>> HolderLoops::claim(Grant grant, StopSource& stop) {
  if (!grant.repeat && grant.usable_until > clock_.now()) {
    const Duration interval = (grant.usable_until - clock_.now()) / 3;
    const TimePoint usable_until = grant.usable_until;
    co_return taken(std::move(grant), usable_until, interval);
  }
  const TimePoint give_up = clock_.now() + kUsual.claim;  // then it is somebody else's
  while (clock_.now() < give_up) {
    const auto renewed = co_await queue_.renew(grant.request, grant.token, call_deadline());
    if (renewed) co_return taken(std::move(grant), renewed->usable_until, renewed->interval);
    if (kind_of(renewed.error()) != FailureKind::retry || renewed.error() == LeaseErrc::unknown ||
        stop.stopping())
      break;
    co_await nap(200ms, stop);
  }
  co_return std::nullopt;  // acquire() says where the request stands
}

HolderLoops::Held HolderLoops::taken(Grant grant, TimePoint usable_until, Duration interval) {
  const auto held = std::make_shared<HeldLease>(std::move(grant));
  held->usable_until = usable_until;
  held->renew_at = clock_.now() + interval;
  held_[held->grant.request] = held;
  std::ignore = loops_.spawn("lease " + held->grant.request.str(), keep(held));
  return std::make_unique<OwnedLease>(*this, held);
}

Task<> HolderLoops::keep(std::shared_ptr<HeldLease> held) {
  const auto hook = stop_.on_stop([held] { held->done.request(StopReason::requested); });
  if (stop_.stopping()) co_return;
  while (!held->done.stopping() && !held->lost_because) {
    co_await clock_.sleep_until(std::min(held->renew_at, held->usable_until), held->done);
    if (held->done.stopping()) break;
    if (clock_.now() >= held->usable_until) {
      lose(*held, LeaseErrc::unanswered);
    } else {
      co_await renew(held);
    }
  }
}

Task<> HolderLoops::renew(std::shared_ptr<HeldLease> held) {
  const auto renewed = co_await queue_.renew(held->grant.request, held->grant.token,
                                             call_deadline(held->usable_until));
  if (held->done.stopping()) co_return;
  if (renewed) {
    held->usable_until = std::max(held->usable_until, renewed->usable_until);
    held->renew_at = clock_.now() + renewed->interval;
    if (held->renewed) held->renewed(held->usable_until);
  } else if (kind_of(renewed.error()) == FailureKind::retry) {
    held->renew_at = clock_.now() + jittered(300ms);
  } else if (renewed.error() == LeaseErrc::hold_limit) {
    held->renew_at = TimePoint::max();  // no more time; what is left of it may be used
  } else {
    lose(*held, renewed.error());
  }
}

Task<bool> HolderLoops::release(std::shared_ptr<HeldLease> held, ReleaseAs how) {
  held->done.request(StopReason::requested);
  const auto& grant = held->grant;
  const TimePoint give_up = held->usable_until + kUsual.margin;  // then the queue takes it back
  if (held->lost_because == LeaseErrc::requeued) co_return co_await release_requeued(held, how);
  Result<void, LeaseErrc> released;
  do {
    released = co_await queue_.release(grant.request, grant.token, how, call_deadline(give_up));
    if (released || kind_of(released.error()) != FailureKind::retry) break;
    co_await nap(200ms, background_);
  } while (clock_.now() < give_up && (!closing_until_ || clock_.now() < *closing_until_));
  if (!released && released.error() == LeaseErrc::not_holder)
    co_return co_await release_requeued(held, how);
  forget(*held);
  co_return released.has_value();
}

void HolderLoops::forget(const HeldLease& held) {
  const auto at = held_.find(held.grant.request);
  if (at != held_.end() && at->second.get() == &held) held_.erase(at);
}

/// The queue has taken the lease back, and perhaps put the request into the queue again.
Task<bool> HolderLoops::release_requeued(std::shared_ptr<HeldLease> held, ReleaseAs how) {
  const RequestId request = held->grant.request;
  forget(*held);
  if (how == ReleaseAs::retry) {
    if (held->regrant) early_[request] = *held->regrant;
    co_return true;
  }
  if (held->regrant) co_await let_go(*held->regrant);
  if (!held->regrant) co_await withdraw(request);
  co_return false;
}

void HolderLoops::drop(std::shared_ptr<HeldLease> held) {
  std::ignore = tidy_.spawn("release", release_dropped(std::move(held)));
}

Task<> HolderLoops::release_dropped(std::shared_ptr<HeldLease> held) {
  std::ignore = co_await release(held, ReleaseAs::unsure);
}

Task<> HolderLoops::let_go(Grant grant) {  // never used: nothing of ours is on the GPU
  std::ignore =
      co_await queue_.release(grant.request, grant.token, ReleaseAs::clear, call_deadline());
}

Task<> HolderLoops::withdraw(RequestId request) {
  for (int i = 0; i < 3; ++i) {
    const auto cancelled = co_await queue_.cancel(request, call_deadline());
    if (cancelled && *cancelled == CancelAnswer::ok) co_return;
    if (cancelled) {  // granted by an answer that we have not seen: learn the token
      HoldAsk ask;
      ask.request = request;
      ask.run = RunUid("unknown");  // not looked at: the queue knows the request
      auto answer = co_await queue_.acquire(ask, {}, false, call_deadline());
      const auto* grant = answer ? std::get_if<Grant>(&*answer) : nullptr;
      if (grant != nullptr) co_await let_go(*grant);
      continue;
    }
    co_await nap(200ms, background_);
  }
}

void HolderLoops::heard(Grant grant) {
  const auto wait = waiting_.find(grant.request);
  if (wait != waiting_.end()) {
    wait->second->grant = std::move(grant);
    wait->second->changed.notify();
    return;
  }
  const auto held = held_.find(grant.request);
  if (held == held_.end()) {
    std::ignore = tidy_.spawn("release", let_go(std::move(grant)));
  } else if (held->second->grant.token <
             grant.token) {  // ours is over, its request had waited again
    held->second->regrant = std::move(grant);
    lose(*held->second, LeaseErrc::requeued);
  }
}

void HolderLoops::poll_now() {
  poll_asked_ = true;
  if (poll_wake_) poll_wake_->request(StopReason::requested);
}

Task<> HolderLoops::poll_loop() {
  while (!stop_.stopping()) {
    if (!poll_asked_) {
      const auto wake = std::make_shared<StopSource>();
      poll_wake_ = wake;
      const auto hook = stop_.on_stop([wake] { wake->request(StopReason::requested); });
      co_await clock_.sleep_until(clock_.now() + kPoll, *wake);
    }
    poll_asked_ = false;
    if (stop_.stopping()) break;
    co_await poll_once();
    for (const auto& [request, wait] : waiting_) {
      if (wait->grant || clock_.now() - wait->heard <= kLongestWait) continue;
      wait->ask_again = true;  // and so see that it has waited long enough
      wait->changed.notify();
    }
  }
}

Task<> HolderLoops::poll_once() {
  std::vector<RequestId> all;
  for (const auto& [request, wait] : waiting_)
    if (!wait->grant) all.push_back(request);
  for (std::size_t begin = 0; begin < all.size() && !stop_.stopping(); begin += kPollSize) {
    const auto end = std::min(all.size(), begin + kPollSize);
    const std::vector<RequestId> some(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                      all.begin() + static_cast<std::ptrdiff_t>(end));
    const auto answers = co_await queue_.poll(some, call_deadline());
    if (!answers) co_return;
    for (std::size_t i = 0; i < some.size(); ++i) {
      const auto at = waiting_.find(some[i]);
      const auto& answer = (*answers)[i];
      if (at == waiting_.end()) continue;
      at->second->heard = clock_.now();
      if (std::holds_alternative<Waiting>(answer)) continue;
      if (const auto* grant = std::get_if<Grant>(&answer)) {
        at->second->grant = *grant;
      } else {
        at->second->ask_again = true;
      }
      at->second->changed.notify();
    }
  }
}

Task<> HolderLoops::shut_down() {
  closing_until_ = clock_.now() + kClosing;
  stop_.request(StopReason::requested);
  StopSource never;
  while (holds_ > 0) co_await holds_changed_.wait(never);
  for (const auto& [request, held] : std::map(held_)) drop(held);
  co_await loops_.join();
  co_await tidy_.join();
  queue_.on_grant({});
}

}  // namespace swage::lease
