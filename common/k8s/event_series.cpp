#include "common/k8s/event_series.hpp"

#include <algorithm>

namespace swage::k8s {
namespace {

constexpr std::size_t kLongestNote = 1024;  // the API server refuses more

/// At most that many bytes, and never a part of a UTF-8 character.
std::string cut(std::string text) {
  if (text.size() <= kLongestNote) return text;
  std::size_t end = kLongestNote;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text;
}

}  // namespace

std::optional<EventSeries::Write> EventSeries::add(EventNote note, std::string name,
                                                   TimePoint now) {
  const auto key = std::pair(note.subject.uid, note.reason);
  auto found = series_.find(key);
  if (found != series_.end() && now - found->second.last_seen > kForgotten) {
    series_.erase(found);
    found = series_.end();
  }
  if (found == series_.end()) {
    if (series_.size() >= kMost)
      series_.erase(std::ranges::min_element(
          series_, {}, [](const auto& entry) { return entry.second.last_seen; }));
    series_.emplace(key, Series{name, 1, 1, now, now, note});
    return Write{std::move(name), true, 1, std::move(note)};
  }
  auto& series = found->second;
  ++series.count;
  series.last_seen = now;
  series.note = std::move(note);
  if (now - series.last_write < kPeriod) return std::nullopt;
  series.last_write = now;
  series.written = series.count;
  return Write{series.name, false, series.count, series.note};
}

std::optional<EventSeries::Write> EventSeries::due(TimePoint now) {
  for (auto& [key, series] : series_) {
    if (series.written == series.count || now - series.last_write < kPeriod) continue;
    series.last_write = now;
    series.written = series.count;
    return Write{series.name, false, series.count, series.note};
  }
  return std::nullopt;
}

std::optional<TimePoint> EventSeries::next_due() const {
  std::optional<TimePoint> first;
  for (const auto& [key, series] : series_)
    if (series.written != series.count && (!first || series.last_write + kPeriod < *first))
      first = series.last_write + kPeriod;
  return first;
}

Json event_object(const EventSeries::Write& write, const std::string& controller,
                  const std::string& instance, const std::string& now_text) {
  const auto& subject = write.note.subject;
  return {{"metadata", {{"name", write.name}, {"namespace", subject.name_space}}},
          {"eventTime", now_text},
          {"reportingController", controller},
          {"reportingInstance", instance},
          {"action", "Reconcile"},
          {"reason", write.note.reason},
          {"note", cut(write.note.message)},
          {"type", write.note.warning ? "Warning" : "Normal"},
          {"regarding",
           {{"apiVersion", subject.api_version},
            {"kind", subject.kind},
            {"namespace", subject.name_space},
            {"name", subject.name},
            {"uid", subject.uid}}}};
}

Json event_patch(const EventSeries::Write& write, const std::string& now_text) {
  // Everything else of an Event is immutable.
  return {{"series", {{"count", write.count}, {"lastObservedTime", now_text}}}};
}

}  // namespace swage::k8s
