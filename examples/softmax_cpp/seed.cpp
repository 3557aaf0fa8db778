// Row-wise softmax: maximum, exponentials and their sum, division.
#include <cmath>
#include <cstdint>

extern "C" int softmax(const float* x, float* y, int64_t rows, int64_t cols) {
    for (int64_t row = 0; row < rows; ++row) {
        const float* in = x + row * cols;
        float* out = y + row * cols;
        float largest = in[0];
        for (int64_t i = 1; i < cols; ++i) {
            if (in[i] > largest) largest = in[i];
        }
        float sum = 0.0f;
        for (int64_t i = 0; i < cols; ++i) {
            out[i] = std::exp(in[i] - largest);
            sum += out[i];
        }
        for (int64_t i = 0; i < cols; ++i) {
            out[i] = out[i] / sum;
        }
    }
    return 0;
}
