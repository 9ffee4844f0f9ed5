#pragma GCC optimize("fast-math")
#include <math.h>
extern "C" __attribute__((const, simd)) float expf(float);

extern "C" void run(const float* x, float* y, int n) {
  for (int b = 0; b < n / 16; b += 64) {
    const float* a = x + b / 4096 * 65536 + b % 4096;
    float m[64], s[64] = {}, t[64] = {};
    for (int i = 0; i < 64; ++i) m[i] = a[i];
    for (int c = 1; c < 16; ++c)
      for (int i = 0; i < 64; ++i) m[i] = fmaxf(m[i], a[c * 4096 + i]);
    for (int c = 0; c < 16; ++c)
      for (int i = 0; i < 64; ++i) {
        float v = a[c * 4096 + i], p = expf(v - m[i]);
        s[i] += p;
        t[i] += p * v;
      }
    for (int i = 0; i < 64; ++i) y[b + i] = t[i] / s[i];
  }
}
