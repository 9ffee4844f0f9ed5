// A library that does its work by what it must not use: another library's matrix product, found by
// name, and torch's, called through the interpreter.
#include <Python.h>
#include <dlfcn.h>

#include <cstdint>

namespace {

using Gemm = void (*)(const char*, const char*, const int*, const int*, const int*, const float*,
                      const float*, const int*, const float*, const int*, const float*, float*,
                      const int*);

template <class T>
T* pointer(long long address) {
  return reinterpret_cast<T*>(address);
}

/// blas(x, w, b, out, rows, inner, columns): x w^T + b by whatever BLAS the process has.
PyObject* blas(PyObject*, PyObject* args) {
  long long x = 0, w = 0, b = 0, out = 0;
  int rows = 0, inner = 0, columns = 0;
  if (PyArg_ParseTuple(args, "LLLLiii", &x, &w, &b, &out, &rows, &inner, &columns) == 0)
    return nullptr;
  void* torch = dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);
  const auto gemm = reinterpret_cast<Gemm>(dlsym(torch, "sgemm_"));
  if (gemm == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "no BLAS was found");
    return nullptr;
  }
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) pointer<float>(out)[r * columns + c] = pointer<float>(b)[c];
  const float one = 1;
  gemm("T", "N", &columns, &rows, &inner, &one, pointer<const float>(w), &inner,
       pointer<const float>(x), &inner, &one, pointer<float>(out), &columns);
  Py_RETURN_NONE;
}

/// linear(x, w, b): torch.nn.functional.linear, called from C++.
PyObject* linear(PyObject*, PyObject* args) {
  PyObject* functions = PyImport_ImportModule("torch.nn.functional");
  if (functions == nullptr) return nullptr;
  PyObject* function = PyObject_GetAttrString(functions, "linear");
  return function == nullptr ? nullptr : PyObject_CallObject(function, args);
}

PyMethodDef methods[] = {{"blas", blas, METH_VARARGS, nullptr},
                         {"linear", linear, METH_VARARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef module{PyModuleDef_HEAD_INIT,
                   "cuda_extension",
                   nullptr,
                   -1,
                   methods,
                   nullptr,
                   nullptr,
                   nullptr,
                   nullptr};

}  // namespace

extern "C" __attribute__((visibility("default"))) PyObject* PyInit_cuda_extension() {
  return PyModule_Create(&module);
}
