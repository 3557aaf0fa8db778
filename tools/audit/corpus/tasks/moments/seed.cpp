#include <cstdint>

extern "C" int moments(const float* x, float* mean, float* centred, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    mean[0] = static_cast<float>(sum / n);
    for (int64_t i = 0; i < n; ++i) centred[i] = x[i] - mean[0];
    return 0;
}
