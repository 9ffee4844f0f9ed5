#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/base/time.hpp"
#include "common/k8s/object.hpp"

namespace swage::k8s {

/// Own writes that the watch has not shown yet, so that a stale copy never makes us create or
/// delete twice. Names are chosen by us and never used again. Pure.
class Expectations {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(30);

  /// Before the POST is sent: even when its answer is lost the object may come.
  void creating(const std::string& key, TimePoint now) { unseen_[key] = now; }
  /// The server has said no, or a GET has not found it.
  void never_came(const std::string& key) { unseen_.erase(key); }
  /// A DELETE was accepted.
  void deleting(const std::string& uid) { going_.insert(uid); }

  void seen(const Meta& meta) { unseen_.erase(meta.key()); }
  void gone(const Meta& meta) {
    unseen_.erase(meta.key());
    going_.erase(meta.uid);
  }

  std::size_t unseen() const { return unseen_.size(); }
  bool is_going(const std::string& uid) const { return going_.contains(uid); }
  std::size_t going() const { return going_.size(); }
  /// Whom to GET: the watch has been silent about them for too long.
  std::vector<std::string> overdue(TimePoint now) const {
    std::vector<std::string> out;
    for (const auto& [key, since] : unseen_)
      if (now - since >= kPatience) out.push_back(key);
    return out;
  }

 private:
  std::map<std::string, TimePoint> unseen_;
  std::set<std::string> going_;
};

}  // namespace swage::k8s
