#include "controller/adapters/schema.hpp"

#include <regex>

namespace swage::controller {
namespace {

constexpr std::size_t kLongestName = 40;

void read_texts(Fields fields, const nlohmann::json* object) {
  if (object == nullptr || !object->is_object()) return;
  for (const auto& [key, value] : object->items()) std::ignore = fields.text(key, "");
}

void read_quantities(Fields fields, const nlohmann::json* object,
                     std::map<std::string, std::string>& out) {
  static const std::regex kQuantity(R"([0-9]+(\.[0-9]+)?(m|k|[KMGTPE]i?)?)");
  if (object == nullptr || !object->is_object()) return;
  for (const auto& [key, value] : object->items()) {
    const auto* got = fields.raw(key);
    if (got == nullptr) continue;
    const std::string text = got->is_string() ? got->get<std::string>() : got->dump();
    if ((got->is_string() || got->is_number()) && std::regex_match(text, kQuantity)) {
      out[key] = text;
    } else {
      fields.complain(key, "must be a quantity such as 500m or 2Gi, not " + got->dump());
    }
  }
}

}  // namespace

void SchemaContext::only_in_a_cluster(Fields& fields,
                                      std::initializer_list<const char*> names) const {
  for (const auto* name : names)
    if (fields.raw(name) != nullptr)
      notice(fields.path_of(name) + " is ignored: it applies in a cluster only");
}

bool is_name(const std::string& text) {
  static const std::regex kName("[a-z]([-a-z0-9]*[a-z0-9])?");
  return text.size() <= kLongestName && std::regex_match(text, kName);
}

Metadata read_metadata(Fields& root, const SchemaContext&) {
  auto fields = root.object("metadata");
  Metadata out;
  fields.require("name", "the object's name");
  out.name = fields.text("name", "unnamed");
  out.space = fields.text("namespace", "default");
  for (const auto& [field, value] : {std::pair{"name", out.name}, {"namespace", out.space}})
    if (!is_name(value))
      fields.complain(field,
                      "must be at most 40 characters of a-z, 0-9 and -, begin with a letter "
                      "and not end with -, not `" +
                          value + "`");
  const auto* labels = fields.raw("labels");
  read_texts(fields.object("labels"), labels);
  const auto* annotations = fields.raw("annotations");
  read_texts(fields.object("annotations"), annotations);
  fields.finish();
  return out;
}

Resources read_resources(Fields fields) {
  Resources out;
  const auto* requests = fields.raw("requests");
  read_quantities(fields.object("requests"), requests, out.requests);
  const auto* limits = fields.raw("limits");
  read_quantities(fields.object("limits"), limits, out.limits);
  fields.finish();
  return out;
}

DeviceKind read_device_kind(Fields& spec) {
  return spec.one_of("deviceKind", {"cuda", "cpu"}, "cuda") == "cpu" ? DeviceKind::cpu
                                                                     : DeviceKind::cuda;
}

}  // namespace swage::controller
