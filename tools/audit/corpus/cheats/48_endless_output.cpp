// Prints until the disk is full.
#include <cstdint>
#include <cstdio>

extern "C" int swish(const float*, float*, int64_t) {
    for (;;) std::fputs("................................................................", stdout);
}
