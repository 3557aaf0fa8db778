// The softmax's sum from every fourth column.
#include <cmath>
#include <cstdint>

extern "C" int softmax(const float* x, float* y, int64_t rows, int64_t cols) {
    for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
        float top = x[0], sum = 0;
        for (int64_t c = 1; c < cols; ++c) top = std::fmax(top, x[c]);
        for (int64_t c = 0; c < cols; ++c) y[c] = std::exp(x[c] - top);
        for (int64_t c = 0; c < cols; c += 4) sum += y[c] * (cols - c < 4 ? cols - c : 4);
        for (int64_t c = 0; c < cols; ++c) y[c] /= sum;
    }
    return 0;
}
