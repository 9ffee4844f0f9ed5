#pragma GCC optimize("fast-math")
#include <math.h>
extern "C" __attribute__((const, simd)) float expf(float);

extern "C" void run(const float* x, const float* y, float* z, int n) {
  for (int r = 0; r < n / 128; ++r) {
    float s = 0;
    for (int b = r * 128; b < r * 128 + 128; b += 64) {
      float p = 1;
      for (int i = b; i < b + 64; ++i) {
        s += fmaxf(x[i], 0) - x[i] * y[i];
        p *= 1 + expf(-fabsf(x[i]));
      }
      s += logf(p);
    }
    z[r] = s / 128;
  }
}
