#include "gpu_pool/worker/app/registrar.hpp"

#include <utility>

#include "common/log/log.hpp"

namespace swage::worker {
namespace {

using namespace std::chrono_literals;

constexpr auto kCall = 1s;
constexpr auto kBeat = 1s;
constexpr auto kRetry = 500ms;

}  // namespace

Registrar::Registrar(const asio::any_io_executor& strand, lease::WorkerQueue& queue,
                     Evaluations& evaluations, Clock& clock, Config config,
                     std::function<void(std::string)> fatal)
    : queue_(queue),
      evaluations_(evaluations),
      clock_(clock),
      config_(std::move(config)),
      fatal_(std::move(fatal)),
      gate_(strand, stop_) {
  std::ignore = gate_.spawn("registrar", run());
}

Task<> Registrar::shut_down() {
  stop_.request(StopReason::requested);
  co_await gate_.join();
}

Task<> Registrar::run() {
  while (!stop_.stopping()) {
    const Duration pause = registered_ ? co_await beat() : co_await enter();
    co_await clock_.sleep_for(pause, stop_);
  }
}

Task<Duration> Registrar::enter() {
  const bool fit = co_await evaluations_.self_test();
  if (!fit) {
    log_warning("the device is not clear; it does not register", {{"gpu", config_.gpu}});
    co_return Duration(kBeat);
  }
  lease::Registration registration{config_.gpu, config_.boot, config_.address, evaluations_.floor(),
                                   evaluations_.running()};
  std::optional<lease::Token> reported;
  if (registration.running) reported = registration.running->token;
  const auto answer = co_await queue_.register_gpu(std::move(registration), clock_.now() + kCall);
  if (!answer || std::holds_alternative<lease::EpochBehind>(*answer)) co_return Duration(kRetry);
  if (std::holds_alternative<lease::Quarantined>(*answer)) {
    co_await requalify();
    co_return Duration(kBeat);
  }
  const auto& entered = std::get<lease::Registered>(*answer);
  evaluations_.registered(entered.newest, entered.restored, reported);
  registered_ = true;
  log_info("registered",
           {{"gpu", config_.gpu}, {"epoch", entered.newest.epoch}, {"restored", entered.restored}});
  co_return Duration(kBeat);
}

Task<> Registrar::requalify() {
  const auto again = co_await queue_.requalify(config_.gpu, config_.boot, clock_.now() + kCall);
  if (again && !*again) log_error("the GPU stays quarantined", {{"gpu", config_.gpu}});
}

Task<Duration> Registrar::beat() {
  const auto answer = co_await queue_.heartbeat(config_.gpu, config_.boot, clock_.now() + kCall);
  if (!answer) {
    // A server that has forgotten everything answers no_epoch until the leader has installed one.
    if (answer.error() == lease::LeaseErrc::no_epoch) registered_ = false;
    co_return Duration(kRetry);
  }
  if (std::holds_alternative<lease::MustRegister>(*answer) ||
      std::holds_alternative<lease::Quarantined>(*answer)) {
    registered_ = false;
    co_return Duration{};
  }
  if (std::holds_alternative<lease::BootReplaced>(*answer)) {
    stop_.request(StopReason::requested);
    fatal_("another process serves GPU " + config_.gpu.str());
  }
  const auto* told = std::get_if<lease::Clear>(&*answer);
  if (told != nullptr && clearing_ != told->token) {
    clearing_ = told->token;
    std::ignore = gate_.spawn("clear", clear(told->token));
  }
  co_return Duration(kBeat);
}

Task<> Registrar::clear(lease::Token token) {
  const bool ok = co_await evaluations_.clear(token);
  log_warning("cleared for the queue", {{"gpu", config_.gpu}, {"ok", ok}});
  const auto told =
      co_await queue_.cleared(config_.gpu, config_.boot, token, ok, clock_.now() + kCall);
  // Not told: the next heartbeat says CLEAR again.
  if (!told && clearing_ == token) clearing_.reset();
}

}  // namespace swage::worker
