#pragma GCC optimize("fast-math")
#include <math.h>
extern "C" __attribute__((const, simd)) float expf(float);

extern "C" void run(const float* x, const float* y, float* z, int n) {
  for (int r = 0; r < n; r += 128) {
    float v = 0;
    for (int i = r; i < r + 128; ++i) v += x[i] * x[i];
    v = 1 / sqrtf(v / 128 + 1e-5f);
    for (int i = r; i < r + 128; ++i)
      z[i] = x[i] + x[i] * v * (1 - 2 / (1 + expf(fminf(2 * y[i], 80))));
  }
}
