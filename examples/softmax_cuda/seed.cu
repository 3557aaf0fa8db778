/*
kernelguild:
  steps:
    - kernel: softmax
      grid: [rows]
      block: [256]
      arguments: [x, y, cols]
*/
// One block per row; the row is read three times.

__device__ float reduce(float value, bool maximum) {
    __shared__ float partial[32];
    for (int lane = 16; lane > 0; lane /= 2) {
        float other = __shfl_xor_sync(0xffffffff, value, lane);
        value = maximum ? fmaxf(value, other) : value + other;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = partial[0];
    for (int warp = 1; warp < blockDim.x / 32; ++warp)
        value = maximum ? fmaxf(value, partial[warp]) : value + partial[warp];
    return value;
}

__global__ void softmax(const float* x, float* y, int cols) {
    x += size_t(blockIdx.x) * cols;
    y += size_t(blockIdx.x) * cols;
    float largest = -INFINITY;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) largest = fmaxf(largest, x[i]);
    largest = reduce(largest, true);
    float sum = 0;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(x[i] - largest);
    sum = reduce(sum, false);
    for (int i = threadIdx.x; i < cols; i += blockDim.x) y[i] = expf(x[i] - largest) / sum;
}
