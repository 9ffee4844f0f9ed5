#include "controller/adapters/kube_pod_backend.hpp"

#include <utility>
#include <vector>

#include "common/asio/event.hpp"
#include "common/asio/gate.hpp"
#include "common/k8s/informer.hpp"
#include "common/log/log.hpp"
#include "controller/adapters/kube_pod_facts.hpp"

namespace swage::controller {
namespace {

using namespace std::chrono_literals;
using k8s::Errc;
using k8s::Json;

const k8s::ResourceType kPods{"", "v1", "pods", "Pod"};

PodError error_of(const k8s::Error& error) {
  if (error.code == Errc::forbidden && error.message.find("exceeded quota") != std::string::npos)
    return {PodErrc::refused, error.message + "; raise the namespace's quota or run less at once",
            "QuotaExceeded"};
  if (error.code == Errc::forbidden)
    return {PodErrc::refused,
            error.message + "; the operator's role or the namespace's admission forbids it",
            "Forbidden"};
  if (error.code == Errc::invalid) return {PodErrc::refused, error.message, "Invalid"};
  return {PodErrc::refused, error.message, "ApiServerUnreachable"};
}

class Backend final : public KubePodBackend {
 public:
  Backend(asio::any_io_executor strand, k8s::Client& client, KubePodSettings settings)
      : client_(client),
        settings_(std::move(settings)),
        events_(strand),
        moved_(strand),
        informer_(strand, client, {kPods, settings_.name_space}, {settings_.selector, ""},
                  [this](const Entry* before, const Entry* after) { changed(before, after); }),
        gate_(strand, stop_) {
    std::ignore = gate_.spawn("pods of " + settings_.selector, informer_.run(stop_));
  }

  Task<std::vector<LivePod>> adopt(StopSource& stop) override {
    std::vector<LivePod> out;
    while (!informer_.synced() && !stop.stopping() && !stop_.stopping())
      co_await client_.clock().sleep_for(20ms, stop);
    for (const auto& [key, entry] : informer_.objects())
      if (entry.value.component && !entry.value.incarnation.empty() && !entry.value.ended)
        out.push_back({entry.meta.name, entry.value.incarnation, *entry.value.component,
                       entry.value.claimed});
    co_return out;
  }

  Task<Result<void, PodError>> create(PodSpec spec) override {
    const auto target = pod(spec.name);
    auto made = co_await client_.create(target, settings_.manifest(spec), soon(), stop_);
    if (made) co_return Result<void, PodError>{};
    const auto code = made.error().code;
    if (code == Errc::conflict || code == Errc::transport) {  // executed all the same, perhaps
      const auto there = co_await client_.get(target, soon(), stop_);
      if (there && PodFacts::from(*there).incarnation == spec.uid)
        co_return Result<void, PodError>{};
      if (code == Errc::conflict)
        co_return tl::unexpected(
            PodError{PodErrc::refused, spec.name + " exists already", "Exists"});
    }
    co_return tl::unexpected(error_of(made.error()));
  }

  Task<Result<void, PodError>> claim(std::string name, std::string uid,
                                     std::string rollout_id) override {
    const auto* known = find(name, uid);
    if (known == nullptr) co_return tl::unexpected(absent(name, uid));
    const tl::unexpected<PodError> lost(
        PodError{PodErrc::lost, name + " has ended, or somebody else has claimed it", "Lost"});
    // The copy may know already: then its resourceVersion would let a second claim pass.
    if (known->value.claimed || known->value.ended) co_return lost;
    auto version = known->meta.resource_version;
    for (int tries = 0; tries < 2; ++tries) {
      Json patch;
      auto& metadata = patch["metadata"];
      metadata["resourceVersion"] = version;
      metadata["labels"][kClaimLabel] = "claimed";
      metadata["annotations"][kRolloutAnnotation] = rollout_id;
      const auto patched =
          co_await client_.merge_patch(pod(name), "", std::move(patch), soon(), stop_);
      if (patched) co_return Result<void, PodError>{};
      if (patched.error().code == Errc::not_found) co_return tl::unexpected(absent(name, uid));
      if (patched.error().code != Errc::conflict)
        co_return tl::unexpected(error_of(patched.error()));
      // Its status moved on, or another leader was quicker: what is there now?
      const auto there = co_await client_.get(pod(name), soon(), stop_);
      if (!there) co_return tl::unexpected(error_of(there.error()));
      const auto facts = PodFacts::from(*there);
      if (facts.incarnation != uid || facts.claimed || facts.ended) break;
      version = k8s::meta_of(*there).resource_version;
    }
    co_return lost;
  }

  Task<Result<void, PodError>> remove(std::string name, std::string uid,
                                      std::chrono::milliseconds grace) override {
    const auto server_uid = co_await server_uid_of(name, uid);
    if (server_uid.empty()) co_return tl::unexpected(absent(name, uid));
    const auto whole = std::chrono::ceil<std::chrono::seconds>(grace);
    const auto asked = co_await delete_pod(name, server_uid, static_cast<int>(whole.count()));
    if (!asked) co_return tl::unexpected(error_of(asked.error()));
    if (!co_await is_gone(name, server_uid, now() + whole + settings_.force_after)) {
      if (stop_.stopping()) co_return Result<void, PodError>{};
      log_warning("a pod does not go; it is removed by force", {{"pod", name}});
      const auto forced = co_await delete_pod(name, server_uid, 0);
      if (!forced) co_return tl::unexpected(error_of(forced.error()));
      std::ignore = co_await is_gone(name, server_uid, now() + settings_.force_after);
    }
    co_return Result<void, PodError>{};
  }

  Task<std::optional<PodEvent>> next_event(StopSource& stop) override {
    co_return co_await events_.pop(stop);
  }

  Task<> close() override {
    stop_.request(StopReason::requested);
    co_await gate_.join();
    events_.close();
  }

 private:
  using Entry = k8s::Informer<PodFacts>::Entry;

  TimePoint now() { return client_.clock().now(); }
  TimePoint soon() { return now() + settings_.request_deadline; }
  k8s::Target pod(const std::string& name) const { return {kPods, settings_.name_space, name}; }
  static PodError absent(const std::string& name, const std::string& uid) {
    return {PodErrc::not_found, "no pod " + name + " of uid " + uid, "NotFound"};
  }

  const Entry* entry(const std::string& name) const {
    const auto found = informer_.objects().find(settings_.name_space + "/" + name);
    return found == informer_.objects().end() ? nullptr : &found->second;
  }
  const Entry* find(const std::string& name, const std::string& uid) const {
    const auto* known = entry(name);
    return known != nullptr && known->value.incarnation == uid ? known : nullptr;
  }
  bool there(const std::string& name, const std::string& server_uid) const {
    const auto* known = entry(name);
    return known != nullptr && known->meta.uid == server_uid;
  }
  /// Empty: there is no such pod. The copy may not show a young one yet: then the server is asked.
  Task<std::string> server_uid_of(std::string name, std::string uid) {
    if (const auto* known = find(name, uid)) co_return known->meta.uid;
    const auto found = co_await client_.get(pod(name), soon(), stop_);
    if (!found || PodFacts::from(*found).incarnation != uid) co_return std::string();
    const auto meta = k8s::meta_of(*found);
    // The copy shows it, and with it its end, before long.
    std::ignore = co_await informer_.wait_for(meta.resource_version, stop_);
    co_return meta.uid;
  }
  Task<Result<bool, k8s::Error>> delete_pod(std::string name, std::string server_uid, int grace) {
    k8s::RemoveOptions options;
    options.uid = server_uid;
    options.grace = grace;
    co_return co_await client_.remove(pod(name), std::move(options), soon(), stop_);
  }
  /// Waits until the copy does not show it. False: it does so still at `deadline`, or close().
  Task<bool> is_gone(std::string name, std::string server_uid, TimePoint deadline) {
    StopSource late;
    const auto hook = stop_.on_stop([&late] { late.request(StopReason::requested); });
    Gate timer(co_await asio::this_coro::executor, late);
    std::ignore = timer.spawn("deadline of " + name, ring_at(deadline, late));
    while (there(name, server_uid) && !late.stopping() && !stop_.stopping())
      co_await moved_.wait(late);
    late.request(StopReason::requested);
    co_await timer.join();
    co_return !there(name, server_uid);
  }
  Task<> ring_at(TimePoint deadline, StopSource& late) {
    co_await client_.clock().sleep_until(deadline, late);
    late.request(StopReason::deadline);
  }

  void changed(const Entry* before, const Entry* after) {
    const auto& name = (after == nullptr ? before : after)->meta.name;
    // Another pod came under the name while nobody looked: first the old one ended.
    if (before != nullptr && after != nullptr && before->meta.uid != after->meta.uid) {
      tell(pod_event(name, &before->value, nullptr));
      before = nullptr;
    }
    tell(pod_event(name, before == nullptr ? nullptr : &before->value,
                   after == nullptr ? nullptr : &after->value));
    if (after != nullptr && after->value.ended && (before == nullptr || !before->value.ended))
      std::ignore = gate_.spawn("clear " + name, clear(name, after->meta.uid));
    moved_.notify();
  }
  void tell(std::optional<PodEvent> event) {
    if (event) events_.push(std::move(*event));
  }
  /// Deletes a pod that has ended, so that its name is free.
  Task<> clear(std::string name, std::string server_uid) {
    while (!stop_.stopping() && there(name, server_uid)) {
      const auto done = co_await delete_pod(name, server_uid, 0);
      if (done) co_return;
      co_await client_.clock().sleep_for(1s, stop_);
    }
  }

  k8s::Client& client_;
  KubePodSettings settings_;
  Mailbox<PodEvent> events_;
  Event moved_;  ///< rings at every change of the copy
  StopSource stop_;
  k8s::Informer<PodFacts> informer_;
  Gate gate_;
};

}  // namespace

std::unique_ptr<KubePodBackend> make_kube_pod_backend(asio::any_io_executor strand,
                                                      k8s::Client& client,
                                                      KubePodSettings settings) {
  return std::make_unique<Backend>(std::move(strand), client, std::move(settings));
}

}  // namespace swage::controller
