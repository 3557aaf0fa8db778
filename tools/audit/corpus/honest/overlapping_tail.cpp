// The last group of eight overlaps the one before: some elements are written twice, with the same values.
#include <cmath>
#include <cstdint>

extern "C" int swish(const float* x, float* y, int64_t n) {
    const auto group = [=](int64_t start, int64_t count) {
        for (int64_t i = start; i < start + count; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
    };
    if (n < 8) return group(0, n), 0;
    for (int64_t i = 0; i + 8 <= n; i += 8) group(i, 8);
    group(n - 8, 8);
    return 0;
}
