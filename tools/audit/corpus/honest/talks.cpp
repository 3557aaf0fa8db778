// Says what it does, on both streams.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>

extern "C" int swish(const float* x, float* y, int64_t n) {
    std::printf("swish of %ld elements\n", static_cast<long>(n));
    std::cerr << "working\n";
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
    return 0;
}
