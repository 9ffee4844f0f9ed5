#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/k8s/error.hpp"

namespace swage::k8s {

/// A kind of object, as paths name it: `{"apps", "v1", "deployments", "Deployment"}`.
struct ResourceType {
  std::string group;  ///< empty: core
  std::string version;
  std::string plural;
  std::string kind;
  bool namespaced = true;

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
};

/// `/apis/GROUP/VERSION/namespaces/NS/PLURAL[/NAME[/SUBRESOURCE]]`. name_space empty: all, or a
/// cluster-wide type.
std::string path_of(const ResourceType& type, const std::string& name_space,
                    const std::string& name = "", const std::string& subresource = "");

/// `?a=b&c=d`, percent-encoded; empty values are left out; empty when nothing is left.
std::string query_of(const std::vector<std::pair<std::string, std::string>>& parameters);

/// What the client itself reads of an object's metadata. Absent fields are empty.
struct Meta {
  std::string name;
  std::string name_space;
  std::string uid;
  std::string resource_version;
  std::string deletion_timestamp;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;

  std::string key() const { return name_space.empty() ? name : name_space + "/" + name; }
};

/// Of any JSON; what is ill-typed is left empty.
Meta meta_of(const Json& object);

/// A resourceVersion as a number: API servers of today use etcd's revisions. Nothing: it is not
/// one.
std::optional<std::uint64_t> revision(const std::string& resource_version);

/// True when `left` is known to be older than `right`.
bool older(const std::string& left, const std::string& right);

/// The wall clock in RFC 3339 with microseconds, as Leases and Events carry it. For people: nobody
/// decides by it.
std::string now_text();

/// What a list or a watch shall bring.
struct Selector {
  std::string labels;  ///< `swage.dev/run=a,swage.dev/sandbox!=warm`
  std::string fields;  ///< `metadata.name=x`
};

}  // namespace swage::k8s
