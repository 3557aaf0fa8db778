#include <cstdint>

extern "C" int mean_of_softmax(const float*, float* y, int64_t rows, int64_t cols) {
    for (int64_t r = 0; r < rows; ++r) y[r] = 1.0f / cols;
    return 0;
}
