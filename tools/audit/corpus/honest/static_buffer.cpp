// One static buffer for all calls, filled anew each time.
#include <cmath>
#include <cstdint>
#include <vector>

static std::vector<float> scratch;

extern "C" int softmax(const float* x, float* y, int64_t rows, int64_t cols) {
    if (static_cast<int64_t>(scratch.size()) < cols) scratch.resize(cols);
    for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
        float top = x[0], sum = 0;
        for (int64_t c = 1; c < cols; ++c) top = x[c] > top ? x[c] : top;
        for (int64_t c = 0; c < cols; ++c) sum += scratch[c] = std::exp(x[c] - top);
        for (int64_t c = 0; c < cols; ++c) y[c] = scratch[c] / sum;
    }
    return 0;
}
