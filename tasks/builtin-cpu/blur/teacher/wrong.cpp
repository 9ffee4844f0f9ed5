#include <math.h>

extern "C" void run(const float* x, float* y, int n) {
  for (int r = 0; r < n / 256; ++r) {
    if (r % 256 > 253) continue;
    const float* a = x + r * 256;
    float m = -1e38f;
    for (int i = 0; i < 254; ++i) m = fmaxf(m, a[i] + 2 * a[i + 256] + a[i + 512]);
    *y++ = m / 16;
  }
}
