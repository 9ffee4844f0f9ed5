__global__ void gelu(const float* x, float* y, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float u = x[i] * (1.6f + 0.072f * x[i] * x[i]);
  y[i] = x[i] / (1 + __expf(u));
}

extern "C" void run(const float* x, float* y, long n) { gelu<<<(n + 255) / 256, 256>>>(x, y, n); }
