#pragma once

// What every Python module of test kernels has in common. Compiled by g++ as the compile service
// would, without the project's libraries (swage_extension_module in CMake).
#include <Python.h>

#include <cstdint>
#include <vector>

namespace swage::test {

/// A call's arguments as 64-bit integers (addresses and counts); a Python error is set when one is
/// not.
inline std::vector<std::int64_t> integers_of(PyObject* args) {
  std::vector<std::int64_t> out;
  for (Py_ssize_t i = 0; i < PyTuple_Size(args); ++i)
    out.push_back(PyLong_AsLongLong(PyTuple_GetItem(args, i)));
  return out;
}

/// The module `cuda_extension`. methods: ends with a row of nulls; outlives the module.
inline PyObject* make_extension(PyMethodDef* methods) {
  static PyModuleDef module{PyModuleDef_HEAD_INIT,
                            "cuda_extension",
                            nullptr,
                            -1,
                            methods,
                            nullptr,
                            nullptr,
                            nullptr,
                            nullptr};
  return PyModule_Create(&module);
}

}  // namespace swage::test

/// The one function that Python looks for in the library.
#define SWAGE_EXTENSION(methods)                                                        \
  extern "C" __attribute__((visibility("default"))) PyObject* PyInit_cuda_extension() { \
    return swage::test::make_extension(methods);                                        \
  }
