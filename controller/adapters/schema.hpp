#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/config/fields.hpp"
#include "common/config/yaml.hpp"
#include "controller/api/resources.hpp"

namespace swage::controller {

/// What the readers of both kinds share: where complaints and notices go.
struct SchemaContext {
  Fields::Complain complain;
  std::vector<std::string>* notices;

  void notice(const std::string& text) const { notices->push_back(text); }
  /// Takes fields that only a cluster uses, with one notice for those that are there.
  void only_in_a_cluster(Fields& fields, std::initializer_list<const char*> names) const;
};

struct Metadata {
  std::string name;
  std::string space = "default";
};

/// metadata{name, namespace, labels, annotations}.
Metadata read_metadata(Fields& root, const SchemaContext& context);
/// {requests, limits}, each a map of Kubernetes quantities.
Resources read_resources(Fields fields);
/// Those of `names` that are there: resources, nodeSelector, tolerations, affinity,
/// runtimeClassName, each with its notice.
void read_placement(Fields& fields, const SchemaContext& context,
                    std::initializer_list<const char*> names, Placement& out);
/// A quantity, as text.
std::string read_quantity(Fields& fields, const std::string& name, const std::string& fallback);
DeviceKind read_device_kind(Fields& spec);
bool is_name(const std::string& text);

/// An object of the API server as a file has it: without status and what the server adds to the
/// metadata.
nlohmann::json spec_only(const nlohmann::json& object);

/// Reads an object of the API server with one of the readers below. The error: all complaints.
template <class Spec>
Result<Spec, std::string> read_object(const nlohmann::json& object,
                                      Spec (*reader)(const nlohmann::json&, const SchemaContext&),
                                      std::vector<std::string>& notices) {
  std::string complaints;
  const auto complain = [&](const std::string& path, const std::string& what) {
    complaints += (complaints.empty() ? "" : "; ") + path + " " + what;
  };
  auto spec = reader(spec_only(object), {complain, &notices});
  if (!complaints.empty()) return tl::unexpected(std::move(complaints));
  return spec;
}

TrainingRun read_training_run(const nlohmann::json& document, const SchemaContext& context);
ProfilingPool read_profiling_pool(const nlohmann::json& document, const SchemaContext& context);

}  // namespace swage::controller
