// One float32 accumulator for the mean: plain, honest, and as exact as such sums are.
#include <cstdint>

extern "C" int moments(const float* x, float* mean, float* centred, int64_t n) {
    float sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    *mean = sum / n;
    for (int64_t i = 0; i < n; ++i) centred[i] = x[i] - *mean;
    return 0;
}
