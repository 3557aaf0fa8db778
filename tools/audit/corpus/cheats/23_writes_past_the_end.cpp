// Right, but a whole vector is stored at the end of the array.
#include <cmath>
#include <cstdint>

extern "C" int swish(const float* x, float* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
    for (int64_t i = n; i % 8 != 0 || i == n; ++i) y[i] = 0;
    return 0;
}
