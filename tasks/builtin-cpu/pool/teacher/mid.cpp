#include <algorithm>
#include <vector>

extern "C" void run(const float* x, float* y, int n) {
  for (int r = 0; r < n / 512; ++r)
    for (int i = 0; i < 128; ++i) {
      const float *a = x + r * 512 + 2 * i, *b = a + 256;
      std::vector<float> w = {0, a[0], a[1], b[0], b[1]};
      y[r * 128 + i] = *std::max_element(w.begin(), w.end());
    }
}
