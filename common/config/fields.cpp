#include "common/config/fields.hpp"

#include <algorithm>
#include <sstream>

namespace swage {
namespace {

const nlohmann::json& empty_object() {
  static const nlohmann::json kEmpty = nlohmann::json::object();
  return kEmpty;
}

/// Levenshtein distance, for "did you mean".
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const auto& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

template <class T>
std::string range_text(T low, T high) {
  std::ostringstream out;
  out << "must lie in [" << low << ", " << high << "]";
  return out.str();
}

}  // namespace

std::string ConfigError::text() const {
  std::string out;
  for (const auto& complaint : complaints) out += (out.empty() ? "" : "\n") + complaint;
  return out;
}

Fields::Fields(const nlohmann::json& object, std::string path, Complain complain)
    : object_(object.is_object() ? object : empty_object()),
      path_(std::move(path)),
      complain_(std::move(complain)) {
  if (!object.is_object() && !object.is_null())
    complain_(path_, std::string("must be an object, not ") + object.type_name());
}

bool Fields::has(const std::string& name) const { return object_.contains(name); }

std::string Fields::path_of(const std::string& name) const {
  return path_.empty() ? name : path_ + "." + name;
}

const nlohmann::json* Fields::take(const std::string& name) {
  known_.insert(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

const nlohmann::json* Fields::raw(const std::string& name) { return take(name); }

void Fields::complain(const std::string& name, const std::string& what) const {
  complain_(path_of(name), what);
}

std::string Fields::text(const std::string& name, std::string fallback) {
  const auto* value = take(name);
  if (value == nullptr) return fallback;
  if (!value->is_string()) {
    complain(name, std::string("must be a string, not ") + value->type_name());
    return fallback;
  }
  return value->get<std::string>();
}

std::int64_t Fields::integer(const std::string& name, std::int64_t fallback, std::int64_t low,
                             std::int64_t high) {
  const auto* value = take(name);
  if (value == nullptr) return fallback;
  if (!value->is_number_integer()) {
    complain(name, std::string("must be a whole number, not ") +
                       (value->is_number() ? value->dump() : value->type_name()));
    return fallback;
  }
  const auto got = value->get<std::int64_t>();
  if (got < low || got > high) {
    complain(name, range_text(low, high) + ", not " + value->dump());
    return fallback;
  }
  return got;
}

double Fields::number(const std::string& name, double fallback, double low, double high) {
  const auto* value = take(name);
  if (value == nullptr) return fallback;
  if (!value->is_number()) {
    complain(name, std::string("must be a number, not ") + value->type_name());
    return fallback;
  }
  const auto got = value->get<double>();
  if (!(got >= low && got <= high)) {
    complain(name, range_text(low, high) + ", not " + value->dump());
    return fallback;
  }
  return got;
}

bool Fields::boolean(const std::string& name, bool fallback) {
  const auto* value = take(name);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) {
    complain(name, std::string("must be true or false, not ") + value->type_name());
    return fallback;
  }
  return value->get<bool>();
}

std::string Fields::one_of(const std::string& name, const std::vector<std::string>& allowed,
                           const std::string& fallback) {
  auto got = text(name, fallback);
  if (got == fallback || std::find(allowed.begin(), allowed.end(), got) != allowed.end())
    return got;
  complain(name, "must be one of " + joined(allowed) + ", not `" + got + "`");
  return fallback;
}

Fields Fields::object(const std::string& name) {
  const auto* value = take(name);
  return {value == nullptr ? empty_object() : *value, path_of(name), complain_};
}

void Fields::require(const std::string& name, const std::string& what_it_is) {
  if (!has(name) || object_.at(name).is_null()) complain(name, "is missing: " + what_it_is);
}

void Fields::finish() {
  for (const auto& [name, value] : object_.items()) {
    if (known_.contains(name)) continue;
    const auto nearest =
        std::min_element(known_.begin(), known_.end(), [&key = name](const auto& a, const auto& b) {
          return distance(key, a) < distance(key, b);
        });
    std::string what = "is not a field here";
    if (nearest != known_.end() && distance(name, *nearest) <= 1 + name.size() / 3) {
      what += "; did you mean `" + *nearest + "`?";
    } else {
      what += "; known are " + joined({known_.begin(), known_.end()});
    }
    complain(name, what);
  }
}

}  // namespace swage
