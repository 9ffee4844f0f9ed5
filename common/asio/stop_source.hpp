#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <utility>

namespace swage {

/// Why work was told to end.
enum class StopReason { requested, deadline, fault };

/// Tells one component's work to end. Touched only on that component's strand.
class StopSource {
 public:
  StopSource() = default;
  StopSource(const StopSource&) = delete;
  StopSource& operator=(const StopSource&) = delete;
  using Hook = std::shared_ptr<void>;  ///< unregisters when it goes: declare it after what it ends

  /// A hook cancels one timer, socket or call. Look at stopping() first: a late hook never runs.
  /// A hook must not unregister another hook.
  [[nodiscard]] Hook on_stop(std::function<void()> fn) {
    const auto at = hooks_.insert(hooks_.end(), std::move(fn));
    return {nullptr, [this, at](void*) { hooks_.erase(at); }};
  }
  bool stopping() const { return reason_.has_value(); }
  std::optional<StopReason> reason() const { return reason_; }
  void request(StopReason reason) {
    if (stopping()) return;  // the first reason stands
    reason_ = reason;
    for (auto& hook : hooks_) hook();
  }

 private:
  std::list<std::function<void()>> hooks_;
  std::optional<StopReason> reason_;
};

}  // namespace swage
