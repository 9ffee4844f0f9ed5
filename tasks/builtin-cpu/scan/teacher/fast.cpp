#pragma GCC optimize("fast-math")
#include <math.h>

extern "C" void run(const float* x, float* y, int n) {
  float s[1024] = {};
  for (int r = 0; r < n; r += 1024)
    for (int i = 0; i < 1024; ++i) {
      float v = x[r + i];
      s[i] += fmaxf(v, 0) * 0.5f + v * v;
      y[r + i] = s[i];
    }
}
