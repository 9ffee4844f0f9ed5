#include "controller/core/rollout_id.hpp"

#include <charconv>
#include <string_view>

#include "common/base/philox.hpp"

namespace swage::controller {
namespace {

constexpr std::size_t kUidDigits = 8;

template <class T>
bool parse_number(std::string_view text, T& out) {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string make_rollout_id(const std::string& run_uid, const RolloutName& name) {
  return run_uid.substr(0, kUidDigits) + "-" + stage_name(name.stage) + "-" +
         std::to_string(name.group) + "-" + std::to_string(name.member);
}

std::optional<RolloutName> parse_rollout_id(const std::string& run_uid, const std::string& id) {
  const std::string_view text(id);
  const auto prefix = run_uid.substr(0, kUidDigits) + "-";
  if (!text.starts_with(prefix)) return std::nullopt;
  const auto rest = text.substr(prefix.size());
  const auto first = rest.find('-');
  const auto second = first == rest.npos ? rest.npos : rest.find('-', first + 1);
  if (second == rest.npos) return std::nullopt;
  RolloutName out;
  out.stage = stage_named(std::string(rest.substr(0, first)));
  if (out.stage == Stage::none) return std::nullopt;
  if (!parse_number(rest.substr(first + 1, second - first - 1), out.group)) return std::nullopt;
  if (!parse_number(rest.substr(second + 1), out.member)) return std::nullopt;
  return out;
}

std::uint64_t rollout_seed(std::int64_t run_seed, const RolloutName& name) {
  const auto words =
      philox(static_cast<std::uint64_t>(run_seed),
             {static_cast<std::uint32_t>(name.stage) + 1U, static_cast<std::uint32_t>(name.group),
              static_cast<std::uint32_t>(name.group >> 32U), name.member});
  return (static_cast<std::uint64_t>(words[1]) << 32U) | words[0];
}

}  // namespace swage::controller
