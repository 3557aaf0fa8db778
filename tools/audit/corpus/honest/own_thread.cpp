// A thread of its own for one half, joined before it returns.
#include <cmath>
#include <cstdint>
#include <thread>

extern "C" int swish(const float* x, float* y, int64_t n) {
    const auto part = [=](int64_t start, int64_t end) {
        for (int64_t i = start; i < end; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
    };
    std::thread half(part, 0, n / 2);
    part(n / 2, n);
    half.join();
    return 0;
}
