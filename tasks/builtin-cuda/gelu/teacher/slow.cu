__global__ void gelu(const float* x, float* y, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  long step = gridDim.x * (long)blockDim.x;
  for (; i < n; i += step) {
    double v = x[i];
    double u = v * (1.6 + 0.072 * v * v);
    y[i] = v / (1 + exp(-u));
  }
}

extern "C" void run(const float* x, float* y, long n) { gelu<<<16, 128>>>(x, y, n); }
