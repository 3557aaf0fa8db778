// The announced width has a loop of its own; every other width goes through the general one.
#include <cmath>
#include <cstdint>

template <int64_t Width>
static void row(const float* x, float* y, int64_t width) {
    const int64_t cols = Width ? Width : width;
    float top = x[0], sum = 0;
    for (int64_t c = 1; c < cols; ++c) top = x[c] > top ? x[c] : top;
    for (int64_t c = 0; c < cols; ++c) sum += y[c] = std::exp(x[c] - top);
    for (int64_t c = 0; c < cols; ++c) y[c] /= sum;
}

extern "C" int softmax(const float* x, float* y, int64_t rows, int64_t cols) {
    for (int64_t r = 0; r < rows; ++r) (cols == 512 ? row<512> : row<0>)(x + r * cols, y + r * cols, cols);
    return 0;
}
