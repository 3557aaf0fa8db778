// Swish of a 16 x 16384 float32 matrix, written so that the compiler vectorises the exponential.
//
// exp(-x) = 2^n * 2^f with n = round(-x / ln 2): 2^f by a polynomial, 2^n through the exponent bits.
#include <cstdint>
#include <cstring>

namespace {
constexpr int64_t kElements = 16 * 16384;

inline float exp_approx(float x) {
    x = x < -87.0f ? -87.0f : (x > 87.0f ? 87.0f : x);
    const float t = x * 1.44269504f;
    const float n = __builtin_floorf(t + 0.5f);
    const float f = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * f + 1.3981999507e-3f;
    p = p * f + 8.3334519073e-3f;
    p = p * f + 4.1665795894e-2f;
    p = p * f + 1.6666665459e-1f;
    p = p * f + 5.0000001201e-1f;
    p = p * f * f + f + 1.0f;
    const int32_t bits = (static_cast<int32_t>(n) + 127) << 23;
    float scale;
    std::memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}
}  // namespace

extern "C" int forward(const float* x, float* y) {
    for (int64_t i = 0; i < kElements; ++i) {
        y[i] = x[i] / (1.0f + exp_approx(-x[i]));
    }
    return 0;
}
