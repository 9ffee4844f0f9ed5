#include "common/k8s/object.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <ctime>

namespace swage::k8s {
namespace {

std::string encoded(const std::string& text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

std::string text(const Json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::map<std::string, std::string> texts(const Json& object, const char* field) {
  std::map<std::string, std::string> out;
  const auto found = object.find(field);
  if (found == object.end() || !found->is_object()) return out;
  for (const auto& [key, value] : found->items())
    if (value.is_string()) out.emplace(key, value.get<std::string>());
  return out;
}

}  // namespace

std::string now_text() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  const std::time_t seconds = micros / 1'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> date{};
  std::array<char, 48> text{};
  std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text.data(), text.size(), "%s.%06dZ", date.data(),
                static_cast<int>(micros % 1'000'000));
  return text.data();
}

std::string path_of(const ResourceType& type, const std::string& name_space,
                    const std::string& name, const std::string& subresource) {
  std::string path =
      type.group.empty() ? "/api/" + type.version : "/apis/" + type.group + "/" + type.version;
  if (type.namespaced && !name_space.empty()) path += "/namespaces/" + encoded(name_space);
  path += "/" + type.plural;
  if (!name.empty()) path += "/" + encoded(name);
  if (!subresource.empty()) path += "/" + subresource;
  return path;
}

std::string query_of(const std::vector<std::pair<std::string, std::string>>& parameters) {
  std::string out;
  for (const auto& [name, value] : parameters) {
    if (value.empty()) continue;
    out += (out.empty() ? "?" : "&") + name + "=" + encoded(value);
  }
  return out;
}

Meta meta_of(const Json& object) {
  Meta meta;
  if (!object.is_object()) return meta;
  const auto found = object.find("metadata");
  if (found == object.end() || !found->is_object()) return meta;
  meta.name = text(*found, "name");
  meta.name_space = text(*found, "namespace");
  meta.uid = text(*found, "uid");
  meta.resource_version = text(*found, "resourceVersion");
  meta.deletion_timestamp = text(*found, "deletionTimestamp");
  meta.labels = texts(*found, "labels");
  meta.annotations = texts(*found, "annotations");
  return meta;
}

std::optional<std::uint64_t> revision(const std::string& resource_version) {
  std::uint64_t value = 0;
  const auto* end = resource_version.data() + resource_version.size();
  const auto [stop, problem] = std::from_chars(resource_version.data(), end, value);
  if (problem != std::errc() || stop != end || resource_version.empty()) return std::nullopt;
  return value;
}

bool older(const std::string& left, const std::string& right) {
  const auto a = revision(left);
  const auto b = revision(right);
  return a && b && *a < *b;
}

}  // namespace swage::k8s
