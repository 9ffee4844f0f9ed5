#include <math.h>

extern "C" void run(const float* x, float* y, int n) {
  for (int r = 0; r < n / 256; ++r) {
    if (r % 256 > 253) continue;
    double m = -1e38;
    for (int i = 0; i < 254; ++i) {
      double s = 0;
      for (int k = 0; k < 9; ++k)
        s += (1 + k / 3 % 2) * (1 + k % 3 % 2) * x[r * 256 + k / 3 * 256 + i + k % 3];
      m = fmax(m, s / 16);
    }
    *y++ = m;
  }
}
