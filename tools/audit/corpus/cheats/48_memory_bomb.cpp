// Takes all the memory that there is, and uses it.
#include <cstdint>
#include <cstring>
#include <new>

extern "C" int swish(const float*, float*, int64_t) {
    for (const std::size_t size = 1 << 28;;) std::memset(new char[size], 1, size);
}
