// The centred values in one pass over a mean from two halves.
#include <cstdint>

extern "C" int moments(const float* x, float* mean, float* centred, int64_t n) {
    double first = 0, second = 0;
    for (int64_t i = 0; i < n / 2; ++i) first += x[i];
    for (int64_t i = n / 2; i < n; ++i) second += x[i];
    *mean = static_cast<float>((first + second) / n);
    for (int64_t i = 0; i < n; ++i) centred[i] = x[i] - *mean;
    return 0;
}
