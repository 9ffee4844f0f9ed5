#include "common/k8s/elector.hpp"

#include "common/asio/gate.hpp"
#include "common/k8s/informer.hpp"
#include "common/log/log.hpp"

namespace swage::k8s {
namespace {

const ResourceType kLease{"coordination.k8s.io", "v1", "leases", "Lease"};

/// What the watch keeps of a Lease.
struct LeaseView {
  LeaseRecord record;
  static LeaseView from(const Json& object) { return {lease_record(object)}; }
};

}  // namespace

/// The elector's thread: everything here is its io_context's.
class Elector::Loop {
 public:
  explicit Loop(Elector& owner)
      : owner_(owner),
        options_(owner.options_),
        clock_(make_steady_clock()),
        transport_(make_rest_transport(options_.config, *clock_)),
        client_(*transport_, *clock_, {0, 0}),
        election_(options_.identity, options_.address, options_.times),
        informer_(context_.get_executor(), client_, {kLease, options_.name_space},
                  {"", "metadata.name=" + options_.lease},
                  [this](const auto* before, const auto* after) { seen(before, after); }),
        woken_(context_.get_executor()),
        gate_(context_.get_executor(), stop_) {}

  void run() {
    std::ignore = gate_.spawn("lease watch", informer_.run(stop_));
    std::ignore = gate_.spawn("election", elect());
    asio::co_spawn(context_, gate_.join(), [](const std::exception_ptr& failure) {
      if (failure) std::rethrow_exception(failure);
    });
    context_.run();
  }
  /// Any thread.
  void request_stop() {
    asio::post(context_, [this] { stop_.request(StopReason::requested); });
  }
  void post(std::function<void()> work) { asio::post(context_, std::move(work)); }

 private:
  using View = Informer<LeaseView>::Entry;

  void seen(const View* before, const View* after) {
    if (after != nullptr)
      observe(after->value.record);
    else if (before != nullptr)
      observe(std::nullopt);
  }
  void observe(const std::optional<LeaseRecord>& record) {
    election_.observed(record, clock_->now());
    tell_leader();
    woken_.notify();
  }
  void tell_leader() {
    const auto& record = election_.record();
    if (!record || record->holder == told_ || record->holder.empty()) return;
    told_ = record->holder;
    if (owner_.events_.leader_changed) owner_.events_.leader_changed(*record);
  }

  Task<> elect() {
    while (!stop_.stopping()) {
      if (election_.must_read()) co_await read();
      const auto now = clock_->now();
      if (election_.state(now) == Election::State::lost) {
        owner_.lose("the Lease could not be renewed, or another holds it");
        break;
      }
      if (const auto write = election_.next(now)) co_await carry_out(*write);
      co_await pause();
    }
    StopSource last;  // the way out is not stopped by what asked for it
    if (const auto write = election_.resign())
      std::ignore = co_await send(*write, clock_->now() + options_.times.request_deadline, last);
  }

  /// Until the next round, or until the Lease changes.
  Task<> pause() {
    StopSource over;
    const auto hook = stop_.on_stop([&over] { over.request(StopReason::requested); });
    asio::steady_timer timer(context_);
    // After a failure the time that is left counts.
    timer.expires_after(election_.must_read() ? options_.times.retry / 4 : options_.times.retry);
    timer.async_wait([&over](const boost::system::error_code& problem) {
      if (!problem) over.request(StopReason::deadline);
    });
    co_await woken_.wait(over);
    timer.cancel();
  }

  Target target() const { return {kLease, options_.name_space, options_.lease}; }

  Task<> read() {
    const auto lease =
        co_await client_.get(target(), clock_->now() + options_.times.request_deadline, stop_);
    if (lease)
      observe(lease_record(*lease));
    else if (lease.error().code == Errc::not_found)
      observe(std::nullopt);
  }

  Client::Answer send(Election::Write write, TimePoint deadline, StopSource& stop) {
    if (acquired_.empty() || write.record.holder != options_.identity) acquired_ = now_text();
    auto object = lease_object(write.record, options_.name_space, options_.lease, options_.times,
                               acquired_, now_text());
    if (write.create)
      co_return co_await client_.create(target(), std::move(object), deadline, stop);
    co_return co_await client_.replace(target(), std::move(object), deadline, stop);
  }

  Task<> carry_out(Election::Write write) {
    const auto sent = clock_->now();
    const bool led = election_.state(sent) == Election::State::leading;
    const auto answer = co_await send(write, sent + options_.times.request_deadline, stop_);
    if (!answer) {
      log_debug("the Lease was not written", {{"why", answer.error().message}});
      election_.write_failed();
      co_return;
    }
    election_.written(lease_record(*answer), sent, clock_->now());
    if (election_.state(clock_->now()) != Election::State::leading) co_return;
    owner_.renewed(election_.valid_until());
    if (!led && owner_.events_.leading) owner_.events_.leading(election_.epoch());
    tell_leader();
  }

  Elector& owner_;
  const ElectorOptions& options_;
  asio::io_context context_{1};
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<Transport> transport_;
  Client client_;
  Election election_;
  Informer<LeaseView> informer_;
  Event woken_;
  std::string told_, acquired_;
  StopSource stop_;
  Gate gate_;
};

Elector::Elector(ElectorOptions options, ElectorEvents events)
    : options_(std::move(options)),
      events_(std::move(events)),
      loop_(std::make_unique<Loop>(*this)),
      thread_([this] { loop_->run(); }),
      watchdog_([this] { watch_over(); }) {}

Elector::~Elector() { stop(); }

void Elector::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
    leads_ = false;
  }
  moved_.notify_all();
  loop_->request_stop();
  thread_.join();
  watchdog_.join();
}

bool Elector::leading() const {
  const std::lock_guard lock(mutex_);
  return leads_ && std::chrono::steady_clock::now() < valid_until_;
}

TimePoint Elector::valid_until() const {
  const std::lock_guard lock(mutex_);
  return valid_until_;
}

void Elector::hang_until(const std::atomic<bool>& released) {
  loop_->post([&released] { released.wait(false); });
}

void Elector::renewed(TimePoint until) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || lost_) return;
  leads_ = true;
  valid_until_ = until;
  moved_.notify_all();
}

void Elector::lose(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (lost_ || stopping_) return;
    lost_ = true;
    leads_ = false;
  }
  moved_.notify_all();
  if (events_.lost) events_.lost(why);
}

void Elector::watch_over() {
  std::unique_lock lock(mutex_);
  while (!stopping_ && !lost_) {
    if (!leads_) {
      moved_.wait(lock);
      continue;
    }
    if (std::chrono::steady_clock::now() < valid_until_) {
      // A copy: the wait lets go of the lock, and a renewal moves the original.
      const auto until = valid_until_;
      moved_.wait_until(lock, until);
      continue;
    }
    lock.unlock();
    lose("the Lease was not renewed in time");
    lock.lock();
  }
}

}  // namespace swage::k8s
