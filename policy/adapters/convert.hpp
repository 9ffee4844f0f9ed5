#pragma once

#include "policy/api/generation.hpp"
#include "policy/api/weights.hpp"
#include "swage/v1/policy.pb.h"
#include "swage/v1/weights.pb.h"

namespace swage::policy {

GenerateRequest from_proto(const v1::GenerateRequest& request);
v1::GenerateResponse to_proto(const SampledTokens& tokens);
v1::GenerateResponse to_proto(const GenerateEnd& end);

WeightManifest from_proto(const v1::WeightManifest& manifest);
v1::WeightManifest to_proto(const WeightManifest& manifest);

}  // namespace swage::policy
