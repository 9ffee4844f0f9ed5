#include "gpu_pool/judge/core/symbol_audit.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace swage::judge {
namespace {

using Names = std::set<std::string_view>;

const Names& libraries() {
  static const Names kNames{"libtorch_python.so", "libtorch.so",     "libtorch_cpu.so",
                            "libc10.so",          "libstdc++.so.6",  "libm.so.6",
                            "libmvec.so.1",       "libgomp.so.1",    "libgcc_s.so.1",
                            "libc.so.6",          "libpthread.so.0", "ld-linux-x86-64.so.2",
                            "libcudart.so.13"};
  return kNames;
}

const Names& libc_names() {
  static const Names kNames{
      "memcpy",      "memmove",  "memset",        "memcmp",       "memchr",        "strlen",
      "strcmp",      "strncmp",  "strchr",        "strrchr",      "strstr",        "strdup",
      "strcpy",      "strncpy",  "strcat",        "strtol",       "strtoul",       "strtoll",
      "strtoull",    "strtod",   "strtof",        "malloc",       "calloc",        "realloc",
      "free",        "abort",    "exit",          "_exit",        "_Exit",         "atexit",
      "printf",      "fprintf",  "sprintf",       "snprintf",     "vsnprintf",     "puts",
      "putchar",     "fputc",    "fputs",         "fwrite",       "fflush",        "stderr",
      "stdout",      "qsort",    "bsearch",       "rand",         "srand",         "rand_r",
      "clock",       "time",     "clock_gettime", "gettimeofday", "aligned_alloc", "posix_memalign",
      "sched_yield", "sysconf",  "sched_getcpu",  "sincos",       "sincosf",       "stdin",
      "environ",     "__environ"};
  return kNames;
}

/// Functions of libm, without the suffix of their type.
const Names& math_names() {
  static const Names kNames{
      "sin",       "cos",     "tan",   "asin",   "acos",  "atan",   "atan2",     "sinh",
      "cosh",      "tanh",    "asinh", "acosh",  "atanh", "exp",    "exp2",      "exp10",
      "expm1",     "log",     "log2",  "log10",  "log1p", "logb",   "ilogb",     "pow",
      "sqrt",      "cbrt",    "hypot", "erf",    "erfc",  "tgamma", "lgamma",    "ceil",
      "floor",     "round",   "trunc", "rint",   "fmod",  "modf",   "nearbyint", "remainder",
      "roundeven", "fma",     "fmax",  "fmin",   "fdim",  "fabs",   "ldexp",     "frexp",
      "scalbn",    "scalbln", "lrint", "llrint", "nan",   "lround", "llround",   "copysign",
      "nextafter"};
  return kNames;
}

/// Beginnings of names whose whole family is allowed: compiler runtime, OpenMP, vector mathematics,
/// libstdc++, pybind11, how a tensor becomes a Python object.
constexpr std::array<std::string_view, 38> kFamilies{"__cxa_",
                                                     "_Unwind_",
                                                     "_ITM_",
                                                     "__gxx_",
                                                     "__gcc_",
                                                     "GOMP_",
                                                     "omp_",
                                                     "_ZGV",
                                                     "_ZNSt",
                                                     "_ZNKSt",
                                                     "_ZSt",
                                                     "_ZTVSt",
                                                     "_ZTISt",
                                                     "_ZTSSt",
                                                     "_ZTTSt",
                                                     "_ZNSo",
                                                     "_ZNKSo",
                                                     "_ZN6caffe28TypeMeta",
                                                     "_ZTVNSt",
                                                     "_ZTINSt",
                                                     "_ZTSNSt",
                                                     "_ZTTNSt",
                                                     "_ZTVN10__cxxabiv1",
                                                     "_ZTIN10__cxxabiv1",
                                                     "_Zn",
                                                     "_Zd",
                                                     "_ZN8pybind11",
                                                     "_ZNK8pybind11",
                                                     "_ZTIN8pybind11",
                                                     "_Z16THPVariable_Wrap",
                                                     "THPVariable",
                                                     "_ZN3c10",
                                                     "_ZNK3c10",
                                                     "_ZTVN3c10",
                                                     "_ZTIN3c10",
                                                     "pthread_mutex_",
                                                     "pthread_cond_",
                                                     "_ZNK9__gnu_cxx"};
constexpr std::array<std::string_view, 9> kRuntime{
    "__assert_fail",          "__stack_chk_fail", "__errno_location",
    "__tls_get_addr",         "__gmon_start__",   "__dynamic_cast",
    "__libc_single_threaded", "pthread_create",   "pthread_join"};

/// What a CUDA kernel is launched with, and what may be asked of the device: whole names. Memory of
/// other processes, callbacks on the processor, and ways to the driver are not among them.
const Names& cuda_names() {
  static const Names kNames{"__cudaRegisterFatBinary",
                            "__cudaRegisterFatBinaryEnd",
                            "__cudaUnregisterFatBinary",
                            "__cudaRegisterFunction",
                            "__cudaRegisterVar",
                            "__cudaInitModule",
                            "__cudaPushCallConfiguration",
                            "__cudaPopCallConfiguration",
                            "__cudaLaunchKernel",
                            "__cudaGetKernel",
                            "cudaLaunchKernel",
                            "cudaLaunchKernelExC",
                            "cudaLaunchCooperativeKernel",
                            "cudaFuncSetAttribute",
                            "cudaFuncGetAttributes",
                            "cudaFuncSetCacheConfig",
                            "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
                            "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
                            "cudaGetDevice",
                            "cudaDeviceGetAttribute",
                            "cudaGetDeviceProperties",
                            "cudaGetLastError",
                            "cudaPeekAtLastError",
                            "cudaGetErrorString",
                            "cudaGetErrorName",
                            "cudaMalloc",
                            "cudaMallocAsync",
                            "cudaFree",
                            "cudaFreeAsync",
                            "cudaMemsetAsync",
                            "cudaMemcpyAsync",
                            "cudaMemcpyToSymbolAsync",
                            "cudaStreamCreateWithFlags",
                            "cudaStreamDestroy",
                            "cudaStreamWaitEvent",
                            "cudaStreamBeginCapture",
                            "cudaStreamEndCapture",
                            "cudaEventCreateWithFlags",
                            "cudaEventRecord",
                            "cudaEventDestroy",
                            "cudaGraphInstantiate",
                            "cudaGraphLaunch",
                            "cudaGraphDestroy",
                            "cudaGraphExecDestroy"};
  return kNames;
}

/// What a tensor may be asked, and how one is made: beginnings of mangled names.
constexpr std::array<std::string_view, 15> kTensor{"_ZNK2at10TensorBase8data_ptr",
                                                   "_ZNK2at10TensorBase14const_data_ptr",
                                                   "_ZNK2at10TensorBase16mutable_data_ptr",
                                                   "_ZNK2at10TensorBase4size",
                                                   "_ZNK2at10TensorBase6stride",
                                                   "_ZNK2at10TensorBase7options",
                                                   "_ZNK2at10TensorBase5print",
                                                   "_ZNK2at10TensorBase21__dispatch_contiguous",
                                                   "_ZN2at4_ops5empty",
                                                   "_ZN2at4_ops9new_empty",
                                                   "_ZN2at4_ops10empty_like",
                                                   "_ZN2at4_ops5zeros",
                                                   "_ZN2at4_ops10zeros_like",
                                                   "_ZN2at4_ops13empty_strided",
                                                   "_ZN2at4_ops9new_zeros"};

/// Refused though a family would allow it: ways around the dispatcher, the allocator and the
/// interpreter, and threads' own settings.
constexpr std::array<std::string_view, 17> kRefused{
    "PyRun_",           "PyEval_Eval", "PyEval_SetTrace", "PyEval_SetProfile",
    "Py_CompileString", "PyImport_",   "PySys_",          "PyMarshal_",
    "PyCode_New",       "Dispatch",    "Allocator",       "FunctionSchema",
    "OperatorHandle",   "TLS",         "ThreadPool",      "IValue",
    "autograd"};

template <std::size_t n>
bool begins_with_one_of(std::string_view name, const std::array<std::string_view, n>& beginnings) {
  return std::ranges::any_of(beginnings, [&](auto part) { return name.starts_with(part); });
}

bool is_mathematics(std::string_view name) {
  if (math_names().contains(name)) return true;
  const bool typed = name.ends_with('f') || name.ends_with('l');
  return typed && math_names().contains(name.substr(0, name.size() - 1));
}

/// `__memcpy_chk` of `memcpy`, and the like.
std::string_view unchecked(std::string_view name) {
  if (!name.starts_with("__") || !name.ends_with("_chk")) return name;
  return name.substr(2, name.size() - 6);
}

bool is_allowed(std::string_view name) {
  if (std::ranges::any_of(kRefused, [&](auto part) { return name.find(part) != name.npos; }))
    return false;
  if (name.starts_with("Py") || name.starts_with("_Py")) return true;
  return begins_with_one_of(name, kFamilies) || begins_with_one_of(name, kTensor) ||
         std::ranges::find(kRuntime, name) != kRuntime.end() ||
         libc_names().contains(unchecked(name)) || is_mathematics(name) ||
         cuda_names().contains(name);
}

}  // namespace

std::optional<std::string> refused_symbol(const ElfSummary& library) {
  for (const auto& name : library.needed)
    if (!libraries().contains(name)) return "the library needs " + name;
  for (const auto& name : library.imported)
    if (!is_allowed(name)) return "the library uses " + name;
  return std::nullopt;
}

}  // namespace swage::judge
