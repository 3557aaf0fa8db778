// The output holds the exponentials until they are divided.
#include <cmath>
#include <cstdint>

extern "C" int softmax(const float* x, float* y, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows * cols; ++i) y[i] = x[i];
    for (int64_t r = 0; r < rows; ++r, y += cols) {
        float top = y[0], sum = 0;
        for (int64_t c = 1; c < cols; ++c) top = y[c] > top ? y[c] : top;
        for (int64_t c = 0; c < cols; ++c) sum += y[c] = std::exp(y[c] - top);
        const float scale = 1 / sum;
        for (int64_t c = 0; c < cols; ++c) y[c] *= scale;
    }
    return 0;
}
