#pragma once

#include <map>
#include <string>
#include <utility>

#include "common/k8s/watch_event.hpp"

namespace swage::k8s {

/// The objects of one list and watch, as projections `T` (`T::from(const Json&)`). Pure.
/// An event that repeats or comes late changes nothing: it is compared with what is kept by
/// resourceVersion, and a deletion by uid as well.
template <class T>
class Store {
 public:
  struct Entry {
    Meta meta;
    T value;
  };
  /// before, after: null when there was or is none.
  template <class Changed>
  void apply(WatchEvent::Type type, const Json& object, const Changed& changed) {
    auto meta = meta_of(object);
    const auto key = meta.key();
    const auto found = entries_.find(key);
    if (found != entries_.end() &&
        older(meta.resource_version, found->second.meta.resource_version))
      return;
    if (type == WatchEvent::Type::deleted) {
      if (found == entries_.end() || found->second.meta.uid != meta.uid) return;
      const Entry before = std::move(found->second);
      entries_.erase(found);
      changed(&before, static_cast<const Entry*>(nullptr));
      return;
    }
    if (found != entries_.end() && found->second.meta.resource_version == meta.resource_version)
      return;
    put({std::move(meta), T::from(object)}, changed);
  }

  /// A list: begin, each item, then end, which drops what the list did not have.
  void begin_list() { listed_.clear(); }
  void list_item(const Json& object) {
    auto meta = meta_of(object);
    auto key = meta.key();
    listed_.insert_or_assign(std::move(key), Entry{std::move(meta), T::from(object)});
  }
  template <class Changed>
  void end_list(const Changed& changed) {
    auto listed = std::exchange(listed_, {});
    for (auto at = entries_.begin(); at != entries_.end();) {
      const auto kept = listed.find(at->first);
      if (kept != listed.end() && kept->second.meta.uid == at->second.meta.uid) {
        ++at;
        continue;
      }
      const Entry before = std::move(at->second);
      at = entries_.erase(at);
      changed(&before, static_cast<const Entry*>(nullptr));
    }
    for (auto& [key, entry] : listed) {
      const auto found = entries_.find(key);
      if (found != entries_.end() &&
          found->second.meta.resource_version == entry.meta.resource_version)
        continue;
      put(std::move(entry), changed);
    }
  }

  const std::map<std::string, Entry>& entries() const { return entries_; }

 private:
  template <class Changed>
  void put(Entry entry, const Changed& changed) {
    const auto key = entry.meta.key();
    const auto found = entries_.find(key);
    if (found == entries_.end()) {
      const auto at = entries_.emplace(key, std::move(entry)).first;
      changed(static_cast<const Entry*>(nullptr), &at->second);
      return;
    }
    const Entry before = std::exchange(found->second, std::move(entry));
    changed(&before, &found->second);
  }

  std::map<std::string, Entry> entries_;
  std::map<std::string, Entry> listed_;
};

}  // namespace swage::k8s
