#include "sandbox/api/tool_schema.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "common/base/check.hpp"
#include "common/base/digest.hpp"
#include "common/base/json_text.hpp"

namespace swage::sandbox {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxArgumentsBytes = std::size_t{1} << 20;
constexpr int kMaxDepth = 16;

const json& document() {
  static const json kDocument = json::parse(tool_schemas_json());
  return kDocument;
}

const json* schema_of(std::string_view name) {
  for (const auto& tool : document())
    if (tool.at("name").get_ref<const std::string&>() == name) return &tool.at("parameters");
  return nullptr;
}

/// "a, b and c"
std::string list(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " and " : ", ";
    out += names[i];
  }
  return out;
}

/// Brackets outside strings: parsing recurses on nothing, but what walks the value does.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

std::string article(const std::string& type) {
  return (type == "integer" || type == "object" || type == "array" ? "an " : "a ") + type;
}

bool has_type(const json& value, const std::string& type) {
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_array();
  return type == "object" && value.is_object();
}

std::size_t code_points(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

using Problem = std::optional<std::string>;
Problem check_value(const json& schema, const json& value, const std::string& where);

std::string needs(const std::string& where, const std::string& key) {
  return where + " needs `" + key + "`.";
}

std::string member_of(const std::string& where, const std::string& key) {
  return where + ": `" + key + "`";
}

Problem check_object(const json& schema, const json& value, const std::string& where) {
  const auto& properties = schema.at("properties");
  std::vector<std::string> known;
  for (const auto& [key, unused] : properties.items()) known.push_back(key);
  for (const auto& key : schema.at("required")) {
    const auto& text = key.get_ref<const std::string&>();
    if (!value.contains(text)) return needs(where, text);
  }
  for (const auto& [key, member] : value.items()) {
    if (!properties.contains(key))
      return where + " has no argument `" + key.substr(0, 64) + "`; it takes " + list(known) + ".";
    if (auto problem = check_value(properties.at(key), member, member_of(where, key)))
      return problem;
  }
  return std::nullopt;
}

Problem check_number(const json& schema, const json& value, const std::string& where) {
  // Compared as unsigned only where the sign allows it, so that 2^63 is not taken for a negative.
  const bool huge =
      value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX};
  if (schema.contains("minimum") && !huge &&
      value.get<std::int64_t>() < schema.at("minimum").get<std::int64_t>())
    return where + " must be at least " + json_text(schema.at("minimum")) + ".";
  if (schema.contains("maximum") &&
      (huge || value.get<std::int64_t>() > schema.at("maximum").get<std::int64_t>()))
    return where + " must be at most " + json_text(schema.at("maximum")) + ".";
  if (huge) return where + " is too large.";
  return std::nullopt;
}

Problem check_array(const json& schema, const json& value, const std::string& where) {
  if (value.size() < schema.value("minItems", std::size_t{0})) return where + " must not be empty.";
  for (std::size_t i = 0; i < value.size(); ++i)
    if (auto problem =
            check_value(schema.at("items"), value[i], where + "[" + std::to_string(i) + "]"))
      return problem;
  return std::nullopt;
}

Problem check_value(const json& schema, const json& value, const std::string& where) {
  const auto type = schema.at("type").get<std::string>();
  if (!has_type(value, type)) return where + " must be " + article(type) + ".";
  if (type == "object") return check_object(schema, value, where);
  if (type == "array") return check_array(schema, value, where);
  if (type == "integer") return check_number(schema, value, where);
  if (type != "string") return std::nullopt;
  if (code_points(value.get_ref<const std::string&>()) < schema.value("minLength", std::size_t{0}))
    return where + " must not be empty.";
  if (schema.contains("enum") &&
      std::ranges::find(schema.at("enum"), value) == schema.at("enum").end()) {
    std::vector<std::string> allowed;
    for (const auto& one : schema.at("enum")) allowed.push_back(one.get<std::string>());
    return where + " must be one of " + list(allowed) + ".";
  }
  return std::nullopt;
}

/// An argument that says what would hold anyway is the same call.
void drop_defaults(const json& schema, json& value) {
  for (const auto& [key, property] : schema.at("properties").items()) {
    if (!value.contains(key)) continue;
    if (property.contains("default") && property.at("default") == value.at(key)) {
      value.erase(key);
    } else if (property.at("type") == "array" && property.at("items").at("type") == "object") {
      for (auto& item : value.at(key)) drop_defaults(property.at("items"), item);
    }
  }
}

}  // namespace

const std::vector<std::string>& tool_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const auto& tool : document()) names.push_back(tool.at("name").get<std::string>());
    return names;
  }();
  return kNames;
}

Result<std::string, std::string> validate_tool_call(std::string_view name,
                                                    std::string_view arguments_json) {
  const auto* schema = schema_of(name);
  if (schema == nullptr)
    return tl::unexpected("There is no tool of that name; the tools are " + list(tool_names()) +
                          ".");
  const std::string who(name);
  if (arguments_json.size() > kMaxArgumentsBytes)
    return tl::unexpected(who + ": the arguments are longer than 1 MiB; send less at a time.");
  if (too_deep(arguments_json))
    return tl::unexpected(who + ": the arguments are nested too deeply; follow the tool's schema.");
  json value = json::parse(arguments_json, nullptr, false);
  if (value.is_discarded())
    return tl::unexpected(who + ": the arguments are not valid JSON; send one JSON object.");
  if (!value.is_object()) return tl::unexpected(who + ": the arguments must be one JSON object.");
  if (auto problem = check_value(*schema, value, who)) return tl::unexpected(std::move(*problem));
  drop_defaults(*schema, value);
  return json_text(value);
}

std::string tool_call_digest(std::string_view name, std::string_view canonical_arguments) {
  Sha256 hash;
  hash.update(name);
  hash.update("\n");
  hash.update(canonical_arguments);
  return hash.hex();
}

}  // namespace swage::sandbox
