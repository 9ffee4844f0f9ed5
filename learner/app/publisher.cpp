#include "learner/app/publisher.hpp"

#include <algorithm>
#include <utility>

#include "common/log/log.hpp"
#include "common/rpc/channel.hpp"
#include "common/rpc/client.hpp"
#include "learner/app/wait.hpp"
#include "swage/v1/weights.grpc.pb.h"

namespace swage::learner {
namespace {

constexpr std::chrono::seconds kAgain{2};
constexpr std::chrono::milliseconds kAgainFailed{250};
constexpr std::chrono::seconds kOfferTime{5};
constexpr std::chrono::minutes kPutTime{5};

/// What sending to one server needs; all of it outlives the call.
struct Sending {
  v1::Weights::Stub& stub;
  const std::string& address;
  Clock& clock;
  const std::string& token;
  const std::shared_ptr<const Publication>& newest;  ///< changes while a version is being sent
};

Task<std::uint64_t> put(const Sending& sending, std::vector<std::uint32_t> chunks,
                        std::shared_ptr<const Publication> publication, StopSource& stop) {
  auto call = BidiCall<v1::PutRequest, v1::PutResponse>::open(
      {sending.clock.now() + kPutTime, sending.token},
      [&](auto* context, auto* reactor) { sending.stub.async()->Put(context, reactor); });
  std::uint64_t held = 0;
  {
    const auto hook = stop.on_stop([&call] { call.cancel(); });
    bool sound = co_await call.write(publication->head());
    for (const auto index : chunks) {
      // A newer version makes this one worthless.
      if (!sound || sending.newest != publication || stop.stopping()) break;
      sound = co_await call.write(publication->chunk(index));
    }
    sound = sound && sending.newest == publication && !stop.stopping();
    if (sound && co_await call.writes_done())
      if (const auto reply = co_await call.read()) held = reply->loaded_version();
    if (held == 0) call.cancel();
  }
  const auto status = co_await call.finish();
  if (!status.ok() && held == 0)
    log_debug("weights were not delivered", {{"reason", status.error_message()}});
  co_return held;
}

/// One Offer and, where it asks for them, a Put of chunks. Returns the version held, 0: unknown.
Task<std::uint64_t> deliver(const Sending& sending, std::shared_ptr<const Publication> publication,
                            StopSource& stop) {
  v1::OfferRequest offer;
  *offer.mutable_manifest() = publication->manifest;
  CallOptions options{sending.clock.now() + kOfferTime, sending.token};
  const auto answer = co_await unary_call(*sending.stub.async(), &v1::Weights::Stub::async::Offer,
                                          std::move(offer), std::move(options), stop);
  if (!answer) co_return 0;
  if (answer->answer() != v1::OFFER_ANSWER_SEND) {
    if (answer->answer() == v1::OFFER_ANSWER_INCOMPATIBLE)
      log_error("a policy server runs another model",
                {{"server", sending.address}, {"detail", answer->detail()}});
    co_return answer->held_version();
  }
  co_return co_await put(sending, {answer->missing().begin(), answer->missing().end()}, publication,
                         stop);
}

}  // namespace

Publisher::Publisher(asio::any_io_executor strand, Clock& clock, std::string token)
    : strand_(strand),
      clock_(clock),
      token_(std::move(token)),
      changed_(strand),
      feeders_(strand, feeders_stop_) {}

void Publisher::set_servers(const v1::PolicySet& set) {
  std::map<std::string, Server> next;
  for (const auto& server : set.servers()) {
    const auto known = servers_.find(server.address());
    next[server.address()] = known == servers_.end() ? Server{} : known->second;
  }
  servers_ = std::move(next);
  changed_.notify();
}

bool Publisher::all_hold(std::uint64_t version) const {
  return std::all_of(servers_.begin(), servers_.end(),
                     [&](const auto& server) { return server.second.held >= version; });
}

Task<> Publisher::publish(std::shared_ptr<const Publication> publication, Duration patience,
                          StopSource& stop) {
  newest_ = std::move(publication);
  const auto version = newest_->version();
  changed_.notify();
  const auto until = clock_.now() + patience;
  while (!all_hold(version) && clock_.now() < until && !stop.stopping())
    co_await wait_until(changed_, until, clock_, stop);
  if (patience > Duration::zero() && !all_hold(version))
    log_warning("not every policy server has the new weights yet", {{"version", version}});
}

Task<> Publisher::run(StopSource& stop) {
  const auto hook = stop.on_stop([this] { feeders_stop_.request(StopReason::requested); });
  while (!stop.stopping()) {
    for (const auto& [address, server] : servers_)
      if (!fed_.contains(address) &&
          feeders_.spawn("feed " + address, feed(address, feeders_stop_)))
        fed_.insert(address);
    co_await changed_.wait(stop);
  }
  co_await feeders_.join();
}

Task<> Publisher::feed(std::string address, StopSource& stop) {
  const auto stub = v1::Weights::NewStub(make_channel(address));
  const Sending sending{*stub, address, clock_, token_, newest_};
  while (!stop.stopping() && servers_.contains(address)) {
    const auto publication = newest_;
    bool delivered = false;
    if (publication) {
      const auto held = co_await deliver(sending, publication, stop);
      delivered = held >= publication->version();
      if (const auto at = servers_.find(address); at != servers_.end()) {
        if (delivered && at->second.held < publication->version())
          log_info("weights delivered", {{"server", address}, {"version", held}});
        const bool news = at->second.held != held;
        at->second.held = held;
        if (news) changed_.notify();
      }
    }
    if (newest_ != publication) continue;
    const auto until = clock_.now() + (delivered || !publication ? Duration(kAgain) : kAgainFailed);
    co_await wait_until(changed_, until, clock_, stop);
  }
  fed_.erase(address);
  changed_.notify();  // it may be known again by now
}

}  // namespace swage::learner
