#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "common/asio/event.hpp"
#include "common/k8s/client.hpp"
#include "common/k8s/expectations.hpp"
#include "common/k8s/reflection.hpp"
#include "common/k8s/store.hpp"

namespace swage::k8s {

/// Where a list and watch goes: the objects themselves are parsed, shown and let go one by one.
class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;
  virtual void begin_list() = 0;
  virtual void list_item(const Json& object) = 0;
  virtual void end_list() = 0;
  virtual void event(WatchEvent::Type type, const Json& object) = 0;
  /// Everything up to the known resourceVersion has been shown.
  virtual void progressed() = 0;
};

/// Counters of one list and watch.
struct ReflectorCounts {
  int lists = 0;          ///< begun
  int watches = 0;        ///< begun
  int list_failures = 0;  ///< with what last_error says
  int watch_failures = 0;
  std::string last_error;
};

/// Carries out what a Reflection decides. Thread: the client's strand.
class Reflector {
 public:
  Reflector(Client& client, Target target, Selector selector, ReflectorSink& sink)
      : client_(client), target_(std::move(target)), selector_(std::move(selector)), sink_(sink) {}

  /// Until `stop` is requested.
  Task<> run(StopSource& stop);

  const Reflection& reflection() const { return reflection_; }
  const ReflectorCounts& counts() const { return counts_; }

 private:
  Task<> list(Reflection::List step, StopSource& stop);
  Task<> watch(Reflection::Watch step, StopSource& stop);
  bool on_line(const std::string& line, std::optional<Error>& problem);
  void failed(const char* what, const Error& error);

  Client& client_;
  Target target_;
  Selector selector_;
  ReflectorSink& sink_;
  Reflection reflection_;
  ReflectorCounts counts_;
  int failures_in_a_row_ = 0;
};

/// A live copy of the objects of one type that a selector picks, as projections `T`
/// (`static T from(const Json&)`). `changed` hears of every difference, also after a gap.
/// Thread: the client's strand. Life: run() has ended before it goes.
template <class T>
class Informer final : private ReflectorSink {
 public:
  using Entry = typename Store<T>::Entry;
  /// before, after: null when there was or is none.
  using Changed = std::function<void(const Entry* before, const Entry* after)>;

  Informer(const asio::any_io_executor& strand, Client& client, Target target, Selector selector,
           Changed changed)
      : client_(client),
        target_(target),
        changed_(std::move(changed)),
        moved_(strand),
        reflector_(client, std::move(target), std::move(selector), *this) {}

  Task<> run(StopSource& stop) { return reflector_.run(stop); }

  /// By `namespace/name`.
  const std::map<std::string, Entry>& objects() const { return store_.entries(); }
  /// The first list is complete.
  bool synced() const { return synced_; }
  const Reflector& reflector() const { return reflector_; }
  Expectations& expectations() { return expectations_; }

  /// True once everything up to `resource_version` (of an own write) is in the copy; false: `stop`.
  Task<bool> wait_for(std::string resource_version, StopSource& stop) {
    while (!stop.stopping()) {
      const auto& known = reflector_.reflection().resource_version();
      if (synced_ && !known.empty() && !older(known, resource_version)) co_return true;
      co_await moved_.wait(stop);
    }
    co_return false;
  }

  /// GETs the own creations that the watch has not shown for 30 s, and settles them.
  Task<> confirm_overdue(TimePoint deadline, StopSource& stop) {
    for (const auto& key : expectations_.overdue(client_.clock().now())) {
      auto one = target_;
      one.name = key.substr(key.find('/') + 1);
      const auto found = co_await client_.get(std::move(one), deadline, stop);
      if (found)
        event(WatchEvent::Type::added, *found);
      else if (found.error().code == Errc::not_found)
        expectations_.never_came(key);
    }
  }

 private:
  void begin_list() override { store_.begin_list(); }
  void list_item(const Json& object) override { store_.list_item(object); }
  void end_list() override {
    store_.end_list([this](const Entry* before, const Entry* after) { tell(before, after); });
    synced_ = true;
  }
  void event(WatchEvent::Type type, const Json& object) override {
    store_.apply(type, object,
                 [this](const Entry* before, const Entry* after) { tell(before, after); });
  }
  void progressed() override { moved_.notify(); }
  void tell(const Entry* before, const Entry* after) {
    if (after != nullptr)
      expectations_.seen(after->meta);
    else
      expectations_.gone(before->meta);
    if (changed_) changed_(before, after);
  }

  Client& client_;
  Target target_;
  Changed changed_;
  Event moved_;
  Store<T> store_;
  Expectations expectations_;
  bool synced_ = false;
  Reflector reflector_;
};

}  // namespace swage::k8s
