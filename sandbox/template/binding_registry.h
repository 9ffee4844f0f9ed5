// Collects the bindings of kernels/*_binding.cpp. Read-only.
//
//   void bind_my_op(pybind11::module_& m) { m.def("my_op", &my_op); }
//   REGISTER_BINDING(my_op, bind_my_op)
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <utility>
#include <vector>

namespace swage_bindings {

using Function = void (*)(pybind11::module_&);

/// The functions registered so far, in link order; filled before the module is initialised.
inline std::vector<std::pair<std::string, Function>>& registry() {
  static std::vector<std::pair<std::string, Function>> entries;
  return entries;
}

struct Registrar {
  Registrar(const char* name, Function function) { registry().emplace_back(name, function); }
};

inline void apply(pybind11::module_& module) {
  for (const auto& [name, function] : registry()) function(module);
}

}  // namespace swage_bindings

/// name: an identifier, unique among all bindings. fn: void fn(pybind11::module_&).
#define REGISTER_BINDING(name, fn) \
  static const ::swage_bindings::Registrar swage_registrar_##name(#name, fn);
