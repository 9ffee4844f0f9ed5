#include <vector>

extern "C" void run(const float* x, float* y, int n) {
  std::vector<double> t(n);
  for (int i = 0; i < n - 512; ++i) t[i] = x[i] + 2 * x[i + 256] + x[i + 512];
  for (int r = 0; r < n; r += 256) {
    if (r / 256 % 256 > 253) continue;
    double m = -1e38;
    for (int i = r; i < r + 254; ++i) {
      double s = t[i] + 2 * t[i + 1] + t[i + 2];
      m = s > m ? s : m;
    }
    *y++ = m / 16;
  }
}
