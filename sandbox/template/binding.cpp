// The extension module: what kernels/*_binding.cpp registered. Read-only.
#include <torch/csrc/utils/pybind.h>
#include <torch/types.h>

#include "binding_registry.h"

PYBIND11_MODULE(cuda_extension, module) { swage_bindings::apply(module); }
