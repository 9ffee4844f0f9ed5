#include "learner/app/control_link.hpp"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/asio/gate.hpp"
#include "common/log/log.hpp"
#include "common/rpc/channel.hpp"
#include "common/rpc/client.hpp"
#include "learner/app/wait.hpp"
#include "swage/v1/control.grpc.pb.h"

namespace swage::learner {
namespace {

using Stream = BidiCall<v1::LearnerMessage, v1::ControllerCommand>;
constexpr std::size_t kIdsPerPart = 10'000;
constexpr std::chrono::seconds kHeartbeat{1};
constexpr std::chrono::milliseconds kFirstPause{100};
constexpr std::chrono::milliseconds kLongestPause{2'000};

/// All ids in parts; one empty part if there are none.
Task<bool> send_ids(Stream& stream, std::vector<std::string> ids, std::string run_uid) {
  std::size_t at = 0;
  do {
    v1::LearnerMessage message;
    auto* part = message.mutable_accepted();
    part->set_run_uid(run_uid);
    const std::size_t end = std::min(at + kIdsPerPart, ids.size());
    for (; at < end; ++at) part->add_rollout_ids(std::move(ids[at]));
    part->set_last(at == ids.size());
    if (!co_await stream.write(std::move(message))) co_return false;
  } while (at < ids.size());
  co_return true;
}

/// Reads commands until the stream ends; then wakes whoever writes.
Task<> read_commands(Stream& stream, const ControlLink::Hooks& hooks, StopSource& ended) {
  while (const auto command = co_await stream.read()) hooks.command(*command);
  ended.request(StopReason::requested);
}

}  // namespace

ControlLink::ControlLink(asio::any_io_executor strand, Clock& clock, std::string address,
                         std::string token, Hooks hooks)
    : strand_(strand),
      clock_(clock),
      address_(std::move(address)),
      token_(std::move(token)),
      hooks_(std::move(hooks)),
      changed_(strand) {}

Task<> ControlLink::run(StopSource& stop) {
  Duration pause = kFirstPause;
  while (!stop.stopping()) {
    const auto began = clock_.now();
    co_await attach(stop);
    if (stop.stopping()) break;
    if (clock_.now() - began > kLongestPause) pause = kFirstPause;
    co_await clock_.sleep_for(pause, stop);
    pause = std::min<Duration>(pause * 2, kLongestPause);
  }
}

Task<> ControlLink::attach(StopSource& stop) {
  const auto stub = v1::Control::NewStub(make_channel(address_));
  auto stream = Stream::open({long_stream_deadline(), token_}, [&](auto* context, auto* reactor) {
    stub->async()->Attach(context, reactor);
  });
  {
    StopSource ended;  // by the controller, by `stop`, or by a fault
    Gate reader(strand_, ended);
    const auto hook = stop.on_stop([&ended] { ended.request(StopReason::requested); });
    std::ignore = reader.spawn("commands", read_commands(stream, hooks_, ended));
    bool sound = co_await send_ids(stream, hooks_.accepted_ids(), hooks_.status().run_uid());
    attached_ = sound;
    std::optional<v1::LearnerStatus> last;
    TimePoint due = clock_.now();
    while (sound && !ended.stopping()) {
      auto status = hooks_.status();
      const bool news = !last || !google::protobuf::util::MessageDifferencer::Equals(*last, status);
      if (news || clock_.now() >= due) {
        last = status;
        v1::LearnerMessage message;
        *message.mutable_status() = std::move(status);
        due = clock_.now() + kHeartbeat;
        sound = co_await stream.write(std::move(message));
        continue;  // it may have changed again meanwhile
      }
      co_await wait_until(changed_, due, clock_, ended);
    }
    attached_ = false;
    stream.cancel();
    co_await reader.join();
  }
  const auto status = co_await stream.finish();
  if (!stop.stopping())
    log_debug("the controller's stream ended", {{"reason", status.error_message()}});
}

}  // namespace swage::learner
