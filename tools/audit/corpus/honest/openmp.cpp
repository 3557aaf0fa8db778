// As many threads as the task allows.
#include <cmath>
#include <cstdint>
#include <omp.h>

extern "C" int swish(const float* x, float* y, int64_t n) {
    if (omp_get_max_threads() != 2) return 9;
#pragma omp parallel for
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
    return 0;
}
