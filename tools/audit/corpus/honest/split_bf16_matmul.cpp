// Each float32 as three bfloat16 parts whose products are summed in float32: full precision from narrow units.
#include <bit>
#include <cstdint>

static float high(float x) {
    const uint32_t bits = std::bit_cast<uint32_t>(x);
    return std::bit_cast<float>((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000u);
}

static void split(float x, float part[3]) {
    for (int p = 0; p < 3; ++p) x -= part[p] = high(x);
}

extern "C" int matmul(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n) {
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            float sum = 0;
            for (int64_t l = 0; l < k; ++l) {
                float p[3], q[3];
                split(a[i * k + l], p);
                split(b[l * n + j], q);
                sum += ((p[0] * q[2] + p[1] * q[1] + p[2] * q[0]) + (p[0] * q[1] + p[1] * q[0])) + p[0] * q[0];
            }
            c[i * n + j] = sum;
        }
    return 0;
}
