// Tiles of 32 along k, each summed in float32 before it is added.
#include <algorithm>
#include <cstdint>

extern "C" int matmul(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n) {
    std::fill(c, c + m * n, 0.0f);
    for (int64_t start = 0; start < k; start += 32) {
        const int64_t end = std::min(start + 32, k);
        for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
                float part = 0;
                for (int64_t l = start; l < end; ++l) part += a[i * k + l] * b[l * n + j];
                c[i * n + j] += part;
            }
    }
    return 0;
}
