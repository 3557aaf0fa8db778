// A table of every remainder, made once.
#include <array>
#include <cstdint>

static const std::array<int32_t, 514> table = [] {
    std::array<int32_t, 514> entries{};
    for (int i = 0; i < 514; ++i) entries[i] = i % 257;
    return entries;
}();

extern "C" int remainder(const int32_t* x, int32_t* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = table[(7 * x[i] + 3) % 257 + 257];
    return 0;
}
