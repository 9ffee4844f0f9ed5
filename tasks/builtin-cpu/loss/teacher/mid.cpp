#include <math.h>

extern "C" void run(const float* x, const float* y, float* z, int n) {
  for (int r = 0; r < n / 128; ++r) {
    float s = 0;
    for (int b = r * 128; b < r * 128 + 128; b += 64) {
      float p = 1;
      for (int i = b; i < b + 64; ++i) {
        s += (x[i] > 0 ? x[i] : 0) - x[i] * y[i];
        p *= 1 + exp2f(-1.442695f * fabsf(x[i]));
      }
      s += logf(p);
    }
    z[r] = s / 128;
  }
}
