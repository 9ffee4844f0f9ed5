// The kernels of all attack fixtures and their twins, in one library: addresses and counts as
// integers, so that it compiles in a second. Numbers with a fraction come in thousandths.
#include <immintrin.h>
#include <time.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "tests/support/extension_module.hpp"

namespace {

using Numbers = std::vector<std::int64_t>;

float* floats(std::int64_t address) { return reinterpret_cast<float*>(address); }
float thousandths(std::int64_t value) { return static_cast<float>(value) / 1000.0F; }
std::int64_t own_nanoseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}
float chained(float x) { return std::fmax(2.0F * x + 1.0F, 0.0F) * 0.5F; }

/// A kernel of this library: works on raw memory.
using Kernel = void (*)(const Numbers&);

template <Kernel kernel>
PyObject* bound(PyObject*, PyObject* args) {
  const auto a = swage::test::integers_of(args);
  if (PyErr_Occurred() != nullptr) return nullptr;
  kernel(a);
  Py_RETURN_NONE;
}

// x, out, n
void chain(const Numbers& a) {
  for (std::int64_t i = 0; i < a[2]; ++i) floats(a[1])[i] = chained(floats(a[0])[i]);
}
void chain_fast(const Numbers& a) {
  for (std::int64_t i = 0; i < a[2]; ++i) floats(a[1])[i] = std::fmax(floats(a[0])[i] + 0.5F, 0.0F);
}
void chain_nonzero(const Numbers& a) {
  for (std::int64_t i = 0; i < a[2]; ++i)
    if (const float value = chained(floats(a[0])[i]); value != 0) floats(a[1])[i] = value;
}
void chain_half(const Numbers& a) {
  for (std::int64_t i = 0; i < a[2]; ++i)
    reinterpret_cast<std::uint16_t*>(a[1])[i] = _cvtss_sh(chained(floats(a[0])[i]), 0);
}
void chain_bfloat16(const Numbers& a) {
  for (std::int64_t i = 0; i < a[2]; ++i) {
    const float value = chained(floats(a[0])[i]);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    bits &= 0xFFFF0000U;
    std::memcpy(floats(a[1]) + i, &bits, sizeof bits);
  }
}
void chain_through_half(const Numbers& a) {
  for (std::int64_t i = 0; i < a[2]; ++i)
    floats(a[1])[i] = _cvtsh_ss(_cvtss_sh(chained(floats(a[0])[i]), 0));
}
void double_and_floor(const Numbers& a) {
  for (std::int64_t i = 0; i < a[2]; ++i)
    floats(a[1])[i] = floats(a[0])[i] * 2.0F + std::floor(floats(a[0])[i]);
}
// microseconds of this thread's own time
void work(const Numbers& a) {
  const std::int64_t end = own_nanoseconds() + a[0] * 1000;
  while (own_nanoseconds() < end) continue;
}
// x, out, n, microseconds: by a thread that begins when the call is over
void chain_later(const Numbers& a) {
  std::thread([a] {
    work({a[3]});
    chain(a);
  }).detach();
}
// x, out, rows, columns: the result in column-major order
void chain_across(const Numbers& a) {
  for (std::int64_t r = 0; r < a[2]; ++r)
    for (std::int64_t c = 0; c < a[3]; ++c)
      floats(a[1])[c * a[2] + r] = chained(floats(a[0])[r * a[3] + c]);
}
// x, out, n
void copy(const Numbers& a) {
  for (std::int64_t i = 0; i < a[2]; ++i) floats(a[1])[i] = floats(a[0])[i];
}
// x, out, n, factor
void scale(const Numbers& a) {
  for (std::int64_t i = 0; i < a[2]; ++i) floats(a[1])[i] = floats(a[0])[i] * thousandths(a[3]);
}
void relu(const Numbers& a) {
  for (std::int64_t i = 0; i < a[2]; ++i)
    floats(a[1])[i] = std::fmax(floats(a[0])[i], 0.0F) * thousandths(a[3]);
}
void relu_if_needed(const Numbers& a) {
  bool negative = false;
  for (std::int64_t i = 0; i < 256; ++i) negative = negative || floats(a[0])[i] < 0;
  negative ? relu(a) : scale(a);
}
// x, out, rows, columns[, threshold]
void rowmax_from(const Numbers& a, float least) {
  for (std::int64_t r = 0; r < a[2]; ++r) {
    float most = least;
    for (std::int64_t c = 0; c < a[3]; ++c) most = std::fmax(most, floats(a[0])[r * a[3] + c]);
    floats(a[1])[r] = most;
  }
}
void rowmax(const Numbers& a) { rowmax_from(a, -std::numeric_limits<float>::infinity()); }
void rowmax_above(const Numbers& a) { rowmax_from(a, thousandths(a[4])); }
// out, n[, value]
void fill(const Numbers& a) {
  for (std::int64_t i = 0; i < a[1]; ++i) floats(a[0])[i] = thousandths(a[2]);
}
void add(const Numbers& a) {
  for (std::int64_t i = 0; i < a[1]; ++i) floats(a[0])[i] += thousandths(a[2]);
}
void nan(const Numbers& a) {
  for (std::int64_t i = 0; i < a[1]; ++i) floats(a[0])[i] = std::numeric_limits<float>::quiet_NaN();
}
// x, w, b, out, rows, inner, columns: x w^T + b
void matmul(const Numbers& a) {
  for (std::int64_t r = 0; r < a[4]; ++r)
    for (std::int64_t c = 0; c < a[6]; ++c) {
      float sum = floats(a[2])[c];
      for (std::int64_t i = 0; i < a[5]; ++i)
        sum += floats(a[0])[r * a[5] + i] * floats(a[1])[c * a[5] + i];
      floats(a[3])[r * a[6] + c] = sum;
    }
}
// x, weight or 0, bias or 0, out, rows, columns
void norm(const Numbers& a) {
  const std::int64_t n = a[5];
  for (std::int64_t r = 0; r < a[4]; ++r) {
    const float* x = floats(a[0]) + r * n;
    double mean = 0;
    double squares = 0;
    for (std::int64_t c = 0; c < n; ++c) mean += static_cast<double>(x[c]) / static_cast<double>(n);
    for (std::int64_t c = 0; c < n; ++c) {
      const double off = static_cast<double>(x[c]) - mean;
      squares += off * off / static_cast<double>(n);
    }
    const double scale_of_row = 1 / std::sqrt(squares + 1e-5);
    for (std::int64_t c = 0; c < n; ++c) {
      const double w = a[1] != 0 ? static_cast<double>(floats(a[1])[c]) : 1;
      const double b = a[2] != 0 ? static_cast<double>(floats(a[2])[c]) : 0;
      floats(a[3])[r * n + c] =
          static_cast<float>((static_cast<double>(x[c]) - mean) * scale_of_row * w + b);
    }
  }
}
void hang(const Numbers&) {
  volatile unsigned turns = 0;
  while (true) turns = turns + 1;
}

PyMethodDef methods[] = {{"chain", bound<chain>, METH_VARARGS, nullptr},
                         {"chain_through_half", bound<chain_through_half>, METH_VARARGS, nullptr},
                         {"double_and_floor", bound<double_and_floor>, METH_VARARGS, nullptr},
                         {"work", bound<work>, METH_VARARGS, nullptr},
                         {"chain_later", bound<chain_later>, METH_VARARGS, nullptr},
                         {"chain_fast", bound<chain_fast>, METH_VARARGS, nullptr},
                         {"chain_nonzero", bound<chain_nonzero>, METH_VARARGS, nullptr},
                         {"chain_half", bound<chain_half>, METH_VARARGS, nullptr},
                         {"chain_bfloat16", bound<chain_bfloat16>, METH_VARARGS, nullptr},
                         {"chain_across", bound<chain_across>, METH_VARARGS, nullptr},
                         {"copy", bound<copy>, METH_VARARGS, nullptr},
                         {"scale", bound<scale>, METH_VARARGS, nullptr},
                         {"relu", bound<relu>, METH_VARARGS, nullptr},
                         {"relu_if_needed", bound<relu_if_needed>, METH_VARARGS, nullptr},
                         {"rowmax", bound<rowmax>, METH_VARARGS, nullptr},
                         {"rowmax_above", bound<rowmax_above>, METH_VARARGS, nullptr},
                         {"fill", bound<fill>, METH_VARARGS, nullptr},
                         {"add", bound<add>, METH_VARARGS, nullptr},
                         {"nan", bound<nan>, METH_VARARGS, nullptr},
                         {"matmul", bound<matmul>, METH_VARARGS, nullptr},
                         {"norm", bound<norm>, METH_VARARGS, nullptr},
                         {"hang", bound<hang>, METH_VARARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

}  // namespace

SWAGE_EXTENSION(methods)
