#include <math.h>

extern "C" void run(const float* x, const float* y, float* z, int n) {
  for (int r = 0; r < n; r += 64) {
    double d[64], m = 0, v = 0;
    for (int i = 0; i < 64; ++i) {
      d[i] = x[r + i] * 0.5 + fmax(y[r + i], 0);
      m += d[i] / 64;
    }
    for (int i = 0; i < 64; ++i) v += pow(d[i] - m, 2) / 64;
    for (int i = 0; i < 64; ++i) z[r + i] = (d[i] - m) / sqrt(v + 1e-5) * 2 + 1;
  }
}
