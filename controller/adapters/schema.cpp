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
  if (object == nullptr || !object->is_object()) return;
  for (const auto& [key, value] : object->items()) {
    auto text = read_quantity(fields, key, "");
    if (!text.empty()) out[key] = std::move(text);
  }
}

void read_map(Fields fields, const nlohmann::json* object,
              std::map<std::string, std::string>& out) {
  if (object == nullptr || !object->is_object()) return;
  for (const auto& [key, value] : object->items()) out[key] = fields.text(key, "");
}

std::string read_tolerations(Fields& fields, const SchemaContext& context) {
  const auto* list = fields.raw("tolerations");
  if (list == nullptr) return "[]";
  if (!list->is_array() || list->size() > 16) {
    fields.complain("tolerations", "must be a list of at most 16 tolerations");
    return "[]";
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    Fields one((*list)[i], fields.path_of("tolerations[" + std::to_string(i) + "]"),
               context.complain);
    for (const auto* name : {"key", "value"}) std::ignore = one.text(name, "");
    std::ignore = one.one_of("operator", {"Exists", "Equal"}, "Equal");
    std::ignore =
        one.one_of("effect", {"NoSchedule", "PreferNoSchedule", "NoExecute"}, "NoSchedule");
    std::ignore = one.raw("tolerationSeconds");
    one.finish();
  }
  return list->dump();
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

std::string read_quantity(Fields& fields, const std::string& name, const std::string& fallback) {
  static const std::regex kQuantity(R"([0-9]+(\.[0-9]+)?(m|k|[KMGTPE]i?)?)");
  const auto* got = fields.raw(name);
  if (got == nullptr) return fallback;
  std::string text = got->is_string() ? got->get<std::string>() : got->dump();
  if ((got->is_string() || got->is_number_integer()) && std::regex_match(text, kQuantity))
    return text;
  fields.complain(
      name, "must be a quantity such as 500m or 2Gi, a fraction in quotes, not " + got->dump());
  return fallback;
}

void read_placement(Fields& fields, const SchemaContext& context,
                    std::initializer_list<const char*> names, Placement& out) {
  context.only_in_a_cluster(fields, names);
  for (const std::string name : names) {
    if (!fields.has(name)) continue;
    if (name == "resources") {
      out.resources = read_resources(fields.object(name));
    } else if (name == "nodeSelector") {
      const auto* map = fields.raw(name);
      read_map(fields.object(name), map, out.node_selector);
    } else if (name == "tolerations") {
      out.tolerations = read_tolerations(fields, context);
    } else if (name == "affinity") {
      std::ignore = fields.object(name);
      if (const auto* raw = fields.raw(name); raw != nullptr && raw->is_object())
        out.affinity = raw->dump();
    } else {
      out.runtime_class = fields.text(name, "");
    }
  }
}

nlohmann::json spec_only(const nlohmann::json& object) {
  nlohmann::json out;
  for (const auto* name : {"apiVersion", "kind", "spec"})
    if (object.contains(name)) out[name] = object[name];
  for (const auto* name : {"name", "namespace"})
    if (object.contains("metadata") && object["metadata"].contains(name))
      out["metadata"][name] = object["metadata"][name];
  return out;
}

DeviceKind read_device_kind(Fields& spec) {
  return spec.one_of("deviceKind", {"cuda", "cpu"}, "cuda") == "cpu" ? DeviceKind::cpu
                                                                     : DeviceKind::cuda;
}

}  // namespace swage::controller
