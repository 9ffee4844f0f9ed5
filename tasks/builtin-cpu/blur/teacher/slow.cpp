extern "C" void run(const float* x, float* y, int n) {
  for (int i = 0; i < 254; ++i)
    for (int r = 0; r < n / 256; ++r) {
      if (r % 256 > 253) continue;
      const float* a = x + r * 256 + i;
      double s = a[0] + 2 * a[1] + a[2];
      s += 2 * a[256] + 4 * a[257] + 2 * a[258];
      s += a[512] + 2 * a[513] + a[514];
      y[(r - r / 256 * 2) * 254 + i] = s / 16;
    }
}
