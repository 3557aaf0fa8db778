// Compensated, and from the last column to the first.
#include <cstdint>

extern "C" int row_sum(const float* x, float* y, int64_t rows, int64_t cols) {
    for (int64_t r = 0; r < rows; ++r) {
        float sum = 0, lost = 0;
        for (int64_t c = cols; c-- > 0;) {
            const float term = x[r * cols + c] - lost, next = sum + term;
            lost = (next - sum) - term;
            sum = next;
        }
        y[r] = sum;
    }
    return 0;
}
