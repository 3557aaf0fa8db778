// Transposes b into memory of its own in every call, and gives it back.
#include <cstdint>
#include <memory>

extern "C" int matmul(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n) {
    const std::unique_ptr<float[]> packed(new float[k * n]);
    for (int64_t l = 0; l < k; ++l)
        for (int64_t j = 0; j < n; ++j) packed[j * k + l] = b[l * n + j];
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            float lanes[8] = {}, sum = 0;
            int64_t l = 0;
            for (; l + 8 <= k; l += 8)
                for (int lane = 0; lane < 8; ++lane) lanes[lane] += a[i * k + l + lane] * packed[j * k + l + lane];
            for (; l < k; ++l) sum += a[i * k + l] * packed[j * k + l];
            for (float lane : lanes) sum += lane;
            c[i * n + j] = sum;
        }
    return 0;
}
