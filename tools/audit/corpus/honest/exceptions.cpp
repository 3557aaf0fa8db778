// Finds the end of its loop by an exception that it catches itself.
#include <cmath>
#include <cstdint>
#include <stdexcept>

extern "C" int swish(const float* x, float* y, int64_t n) {
    try {
        for (int64_t i = 0;; ++i) {
            if (i == n) throw std::out_of_range("done");
            y[i] = x[i] / (1.0f + std::exp(-x[i]));
        }
    } catch (const std::out_of_range&) {
        return 0;
    }
}
