extern "C" void run(const float* x, const float* w, const float* b, float* y, int n) {
  float t[8][64];
  for (int j = 0; j < 64; ++j)
    for (int k = 0; k < 8; ++k) t[k][j] = w[j * 8 + k];
  for (int i = 0; i < n / 8; ++i) {
    float s = 0, h[64];
    for (int j = 0; j < 64; ++j) h[j] = b[j];
    for (int k = 0; k < 8; ++k)
      for (int j = 0; j < 64; ++j) h[j] += x[i * 8 + k] * t[k][j];
    for (int j = 0; j < 64; ++j) s += h[j] > 0 ? h[j] : 0;
    for (int j = 0; j < 64; ++j) s += 0.5f * h[j] * h[j] - 0.2f * h[j];
    y[i] = s;
  }
}
