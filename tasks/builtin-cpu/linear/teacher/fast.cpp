#pragma GCC optimize("fast-math")
#include <math.h>

extern "C" void run(const float* x, const float* w, const float* b, float* y, int n) {
  float t[16][64];
  for (int j = 0; j < 64; ++j)
    for (int k = 0; k < 16; ++k) t[k][j] = w[j * 16 + k];
  for (int i = 0; i < n / 16; ++i) {
    float s = 0, h[64];
    for (int j = 0; j < 64; ++j) h[j] = b[j];
    for (int k = 0; k < 16; ++k)
      for (int j = 0; j < 64; ++j) h[j] += x[i * 16 + k] * t[k][j];
    for (int j = 0; j < 64; ++j) s += fmaxf(h[j], 0) + 0.5f * h[j] * h[j];
    y[i] = s;
  }
}
