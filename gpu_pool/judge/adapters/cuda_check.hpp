#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "common/base/check.hpp"

namespace swage::judge {

/// The judge's own work on the device cannot fail while the device is well: a judge whose device
/// breaks ends, and the worker sees a lost judge.
inline void cuda_check(cudaError_t code, const char* what) {
  check(code == cudaSuccess, std::string(what) + ": " + cudaGetErrorString(code));
}

}  // namespace swage::judge
