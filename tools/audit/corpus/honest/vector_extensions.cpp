// The compiler's own vector types, with a scalar tail.
#include <cmath>
#include <cstdint>
#include <cstring>

typedef float lanes __attribute__((vector_size(32)));

extern "C" int swish(const float* x, float* y, int64_t n) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        lanes v, e;
        std::memcpy(&v, x + i, sizeof v);
        for (int lane = 0; lane < 8; ++lane) e[lane] = std::exp(-v[lane]);
        v = v / (1.0f + e);
        std::memcpy(y + i, &v, sizeof v);
    }
    for (; i < n; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
    return 0;
}
