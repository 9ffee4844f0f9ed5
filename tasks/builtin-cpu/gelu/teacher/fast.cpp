#pragma GCC optimize("fast-math")
#include <math.h>
extern "C" __attribute__((const, simd)) float expf(float);

extern "C" void run(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) {
    float u = x[i] * (1.6f + 0.072f * x[i] * x[i]);
    y[i] = x[i] / (1 + expf(fminf(-u, 80)));
  }
}
