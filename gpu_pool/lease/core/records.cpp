#include "gpu_pool/lease/core/records.hpp"

namespace swage::lease {

Settings settings_from(const PoolSettings& s) {
  const auto micros = [](std::chrono::milliseconds value) { return Micros{value.count()} * 1000; };
  return {micros(s.ttl),
          micros(s.claim),
          micros(s.margin),
          micros(s.clearing),
          micros(s.hold),
          micros(s.wait),
          micros(s.worker_absent),
          micros(s.client_silent),
          s.waiting,
          s.waiting_client,
          s.attempts,
          s.closed ? 1 : 0};
}

PoolSettings settings_to(const Settings& s) {
  const auto millis = [](Micros value) { return std::chrono::milliseconds(value / 1000); };
  PoolSettings settings;
  settings.ttl = millis(s.ttl);
  settings.claim = millis(s.claim);
  settings.margin = millis(s.margin);
  settings.clearing = millis(s.clearing);
  settings.hold = millis(s.hold);
  settings.wait = millis(s.wait);
  settings.worker_absent = millis(s.absent);
  settings.client_silent = millis(s.silent);
  settings.waiting = static_cast<std::uint32_t>(s.waiting);
  settings.waiting_client = static_cast<std::uint32_t>(s.waiting_client);
  settings.attempts = static_cast<std::uint32_t>(s.attempts);
  settings.closed = s.closed != 0;
  return settings;
}

std::array<std::int64_t, 12> settings_list(const Settings& s) {
  return {s.ttl,    s.claim,  s.margin,  s.clearing,       s.hold,     s.wait,
          s.absent, s.silent, s.waiting, s.waiting_client, s.attempts, s.closed};
}

Settings settings_from_list(const std::array<std::int64_t, 12>& list) {
  return {list[0], list[1], list[2], list[3], list[4],  list[5],
          list[6], list[7], list[8], list[9], list[10], list[11]};
}

}  // namespace swage::lease
