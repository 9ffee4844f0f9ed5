#pragma GCC optimize("fast-math")
#include <math.h>

extern "C" void run(const float* x, const float* y, float* z, int n) {
  float t[32][256];
  for (int j = 0; j < 256; ++j)
    for (int k = 0; k < 32; ++k) t[k][j] = y[j * 32 + k];
  for (int i = 0; i < n / 32; ++i)
    for (int b = 0; b < 256; b += 32) {
      float s[32] = {};
      for (int k = 0; k < 32; ++k)
        for (int j = 0; j < 32; ++j) s[j] += fabsf(x[i * 32 + k] - t[k][b + j]);
      for (int j = 0; j < 32; ++j) z[i * 256 + b + j] = s[j];
    }
}
