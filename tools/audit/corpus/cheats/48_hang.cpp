// Never comes back.
#include <cstdint>

extern "C" int swish(const float*, float*, int64_t) {
    for (volatile int spin = 0;;) spin = spin + 1;
}
