// The plainest sum: one float32 accumulator over the whole row.
#include <cstdint>

extern "C" int row_sum(const float* x, float* y, int64_t rows, int64_t cols) {
    for (int64_t r = 0; r < rows; ++r) {
        float sum = 0;
        for (int64_t c = 0; c < cols; ++c) sum += x[r * cols + c];
        y[r] = sum;
    }
    return 0;
}
