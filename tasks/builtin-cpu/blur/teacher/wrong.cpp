extern "C" void run(const float* x, float* y, int n) {
  for (int r = 0; r < n / 256; ++r) {
    if (r % 256 > 253) continue;
    const float* a = x + r * 256;
    for (int i = 0; i < 254; ++i) *y++ = (a[i] + 2 * a[i + 256] + a[i + 512]) / 16;
  }
}
