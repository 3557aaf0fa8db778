/*
kernelguild:
  steps:
    # A row that fits is kept in registers: read once, as float4 where rows stay aligned.
    - kernel: softmax_vector
      grid: [rows]
      block: [256]
      arguments: [x, y, cols]
      when: (cols % 4 == 0) * (cols <= 8192)
    - kernel: softmax_scalar
      grid: [rows]
      block: [256]
      arguments: [x, y, cols]
      when: 1 - (cols % 4 == 0) * (cols <= 8192)
*/

constexpr int THREADS = 256, VECTORS = 8;

__device__ float reduce(float value, bool maximum) {
    __shared__ float partial[THREADS / 32];
    for (int lane = 16; lane > 0; lane /= 2) {
        float other = __shfl_xor_sync(0xffffffff, value, lane);
        value = maximum ? fmaxf(value, other) : value + other;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = partial[0];
    for (int warp = 1; warp < THREADS / 32; ++warp)
        value = maximum ? fmaxf(value, partial[warp]) : value + partial[warp];
    return value;
}

__global__ void __launch_bounds__(THREADS) softmax_vector(const float4* x, float4* y, int cols) {
    const int vectors = cols / 4;
    x += size_t(blockIdx.x) * vectors;
    y += size_t(blockIdx.x) * vectors;
    float4 kept[VECTORS];
    float largest = -INFINITY;
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        const int i = threadIdx.x + k * THREADS;
        if (i >= vectors) break;
        kept[k] = __ldcs(x + i);
        largest = fmaxf(largest, fmaxf(fmaxf(kept[k].x, kept[k].y), fmaxf(kept[k].z, kept[k].w)));
    }
    largest = reduce(largest, true);
    float sum = 0;
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        if (threadIdx.x + k * THREADS >= vectors) break;
        kept[k].x = expf(kept[k].x - largest);
        kept[k].y = expf(kept[k].y - largest);
        kept[k].z = expf(kept[k].z - largest);
        kept[k].w = expf(kept[k].w - largest);
        sum += kept[k].x + kept[k].y + kept[k].z + kept[k].w;
    }
    const float scale = 1 / reduce(sum, false);
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        const int i = threadIdx.x + k * THREADS;
        if (i >= vectors) break;
        __stcs(y + i, make_float4(kept[k].x * scale, kept[k].y * scale, kept[k].z * scale, kept[k].w * scale));
    }
}

__global__ void __launch_bounds__(THREADS) softmax_scalar(const float* x, float* y, int cols) {
    x += size_t(blockIdx.x) * cols;
    y += size_t(blockIdx.x) * cols;
    float largest = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < cols; i += THREADS) largest = fmaxf(largest, x[i]);
    largest = reduce(largest, true);
    for (int i = threadIdx.x; i < cols; i += THREADS) sum += expf(x[i] - largest);
    sum = reduce(sum, false);
    for (int i = threadIdx.x; i < cols; i += THREADS) y[i] = expf(x[i] - largest) / sum;
}
