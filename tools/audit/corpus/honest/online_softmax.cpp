// Maximum and sum in one pass, the sum rescaled whenever the maximum grows.
#include <cmath>
#include <cstdint>

extern "C" int softmax(const float* x, float* y, int64_t rows, int64_t cols) {
    for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
        float top = x[0], sum = 1;
        for (int64_t c = 1; c < cols; ++c) {
            if (x[c] > top) {
                sum *= std::exp(top - x[c]);
                top = x[c];
            }
            sum += std::exp(x[c] - top);
        }
        for (int64_t c = 0; c < cols; ++c) y[c] = std::exp(x[c] - top) / sum;
    }
    return 0;
}
