__device__ float one(float x) {
  float u = x * (1.6f + 0.072f * x * x);
  return x / (1 + __expf(-u));
}

__global__ void gelu(const float4* x, float4* y, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 v = x[i];
  y[i] = make_float4(one(v.x), one(v.y), one(v.z), one(v.w));
}

extern "C" void run(const float* x, float* y, long n) {
  n /= 4;
  gelu<<<(n + 255) / 256, 256>>>((const float4*)x, (float4*)y, n);
}
