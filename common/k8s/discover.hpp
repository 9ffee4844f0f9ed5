#pragma once

#include <vector>

#include "common/k8s/client.hpp"

namespace swage::k8s {

/// The types of one API group, in the version that the server prefers (core: group empty, "v1").
/// Errors: not_found when the server does not know the group.
Task<Result<std::vector<ResourceType>, Error>> discover(Client& client, std::string group,
                                                        TimePoint deadline, StopSource& stop);

}  // namespace swage::k8s
