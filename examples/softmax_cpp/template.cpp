{% set step = width * accumulators %}
{% set blocked = step > 1 %}
{% set plain_exp = exp_degree == 0 and exp_base == "e" and not blocked %}
{% set newton = 1 if divide == "newton1" else 2 if divide == "newton2" else 3 if divide == "newton3" else 0 %}
{% set keeps_exponentials = passes in ("separate", "unshifted") %}
{% set narrow = sum_bits < 24 %}
{% set fresh = "std::exp(in[i] - largest)" if plain_exp else "exponential(in[i], largest)" %}
{% set stored = "out[i]" if keeps_exponentials else fresh %}
{% set lowest = "-125.0f" if exp_base == "two" else "-87.0f" %}
{% set scaled = "/ sum" if divide == "each" else "* scale" %}
{% set fixed_cols = 512 if row_length == "dispatch_512" else 1024 if row_length == "dispatch_1024" else 2048 if row_length == "dispatch_2048" else 0 %}
// Row-wise softmax: maximum, exponentials and their sum, division.
#include <cmath>
#include <cstdint>
{% if exp_degree > 0 or newton > 0 or narrow %}
#include <cstring>
{% endif %}
{% if width > 1 %}

typedef float Vec __attribute__((vector_size({{ 4 * width }})));
{% if loads == "unaligned" %}
typedef float Unaligned __attribute__((vector_size({{ 4 * width }}), aligned(4)));
{% endif %}
typedef int32_t Ints __attribute__((vector_size({{ 4 * width }})));

static inline Vec splat(float value) { return Vec{} + value; }
{% set Memory = "Vec" if loads == "aligned" else "Unaligned" %}
static inline Vec load(const float* from) { return *(const {{ Memory }}*)from; }
static inline void store(float* to, Vec value) { *({{ Memory }}*)to = value; }

static inline float most_of(Vec value) {
    float most = value[0];
    for (int lane = 1; lane < {{ width }}; ++lane) most = value[lane] > most ? value[lane] : most;
    return most;
}

static inline float sum_of(Vec value) {
    float sum = value[0];
    for (int lane = 1; lane < {{ width }}; ++lane) sum += value[lane];
    return sum;
}
{% if tail == "padded" %}

static inline Vec load_part(const float* from, int64_t count, float rest) {
    Vec part = splat(rest);
    for (int64_t lane = 0; lane < count && lane < {{ width }}; ++lane) part[lane] = from[lane];
    return part;
}
{% endif %}
{% elif blocked %}

typedef float Vec;

static inline Vec splat(float value) { return value; }
static inline Vec load(const float* from) { return *from; }
static inline void store(float* to, Vec value) { *to = value; }
static inline float most_of(Vec value) { return value; }
static inline float sum_of(Vec value) { return value; }
{% endif %}
{% if exp_degree > 0 %}

static constexpr float INVERSE_FACTORIAL[] = {1, 1, 1.0f / 2, 1.0f / 6, 1.0f / 24, 1.0f / 120, 1.0f / 720, 1.0f / 5040};
{% endif %}
{% if narrow %}

// Keeps {{ sum_bits }} bits of a float's mantissa.
static inline float narrowed(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits &= ~0u << {{ 24 - sum_bits }};
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
{% if width > 1 %}
static inline Vec narrowed(Vec value) { return (Vec)((Ints)value & (int32_t)(~0u << {{ 24 - sum_bits }})); }
{% endif %}
{% endif %}
{% if not plain_exp %}
{% for vector in range(2 if width > 1 else 1) %}
{% set T = "Vec" if vector == 1 else "float" %}

// exp(x - largest)
static inline {{ T }} exponential({{ T }} x, {{ T }} largest) {
    {{ T }} t = {{ "x * 1.44269504f - largest * 1.44269504f" if exp_base == "two" else "x - largest" }};
{% if exp_degree > 0 and underflow == "clamp" %}
    t = t > {{ lowest }} ? t : {{ lowest }};
{% endif %}
    {{ T }} result;
{% if exp_degree > 0 %}
    // 2^whole * e^rest: adding and subtracting 1.5 * 2^23 rounds to the nearest integer.
{% if exp_base == "two" %}
    {{ T }} whole = (t + 12582912.0f) - 12582912.0f;
    {{ T }} rest = (t - whole) * 0.69314718f;
{% else %}
    {{ T }} whole = (t * 1.44269504f + 12582912.0f) - 12582912.0f;
    {{ T }} rest = (t - whole * 0.693359375f) + whole * 2.12194440e-4f;
{% endif %}
    result = rest * INVERSE_FACTORIAL[{{ exp_degree }}] + INVERSE_FACTORIAL[{{ exp_degree - 1 }}];
{% for down in range(exp_degree - 1) %}
    result = result * rest + INVERSE_FACTORIAL[{{ exp_degree - 2 - down }}];
{% endfor %}
{% if vector == 1 %}
    Ints bits = (__builtin_convertvector(whole, Ints) + 127) * (1 << 23);
    result *= (Vec)bits;
{% else %}
    uint32_t bits = ((uint32_t)(int32_t)whole + 127u) << 23;
    float power;
    std::memcpy(&power, &bits, sizeof power);
    result *= power;
{% endif %}
{% elif vector == 1 %}
    for (int lane = 0; lane < {{ width }}; ++lane) result[lane] = {{ "std::exp2" if exp_base == "two" else "std::exp" }}(t[lane]);
{% else %}
    result = {{ "std::exp2" if exp_base == "two" else "std::exp" }}(t);
{% endif %}
    return {% if exp_degree > 0 and underflow == "zero" %}t < {{ lowest }} ? {{ "Vec{}" if vector == 1 else "0.0f" }} : {% endif %}result;
}
{% endfor %}
{% endif %}
{% if newton > 0 %}

// 1 / value from its bits, refined by Newton's method.
static inline float inverse(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits = 0x7EF311C3u - bits;
    float guess;
    std::memcpy(&guess, &bits, sizeof guess);
{% for refinement in range(newton) %}
    guess = guess * (2.0f - value * guess);
{% endfor %}
    return guess;
}
{% endif %}

{% if fixed_cols > 0 %}
static inline __attribute__((always_inline)) int run(const float* x, float* y, int64_t rows, int64_t cols) {
{% else %}
extern "C" int softmax(const float* x, float* y, int64_t rows, int64_t cols) {
{% endif %}
{% if row_length == "assume_1024" %}
    cols = 1024;
{% elif row_length == "assume_multiple" %}
    if (cols % 16 != 0) __builtin_unreachable();
{% endif %}
{% if block_rows > 1 %}
    for (int64_t first = 0; first < rows; first += {{ block_rows }}) {
    int64_t end = first + {{ block_rows }} < rows ? first + {{ block_rows }} : rows;
    float largest_of[{{ block_rows }}], sum_of_row[{{ block_rows }}];
    for (int64_t row = first; row < end; ++row) {
{% else %}
    for (int64_t row = 0; row < rows; ++row) {
{% endif %}
{% if block_rows == 1 or passes != "unshifted" %}
        const float* in = x + row * cols;
{% endif %}
{% if block_rows == 1 %}
        float* out = y + row * cols;
{% endif %}
{% if align > 0 and (block_rows == 1 or passes != "unshifted") %}
        int64_t head = ({{ align }} - (uintptr_t)(y + row * cols) % {{ align }}) % {{ align }} / 4;
        head = head < cols ? head : cols;
{% endif %}
        float largest = {{ "0.0f" if passes == "unshifted" else "in[0]" }};
{% if passes == "online" %}
        float sum = 0.0f;
{% endif %}
{% if passes == "unshifted" %}
{% elif not blocked %}
{% if unroll > 1 %}#pragma GCC unroll {{ unroll }}
{% endif %}
        for (int64_t i = {{ 0 if passes == "online" else 1 }}; i < cols; ++i) {
{% for line in range(prefetch_lines if prefetch > 0 else 0) %}
            __builtin_prefetch(in + i + {{ prefetch + 16 * line }});
{% endfor %}
{% if passes == "online" %}
            if (in[i] > largest) {
                sum *= {{ "std::exp(largest - in[i])" if plain_exp else "exponential(largest, in[i])" }};
                largest = in[i];
            }
            sum {{ "= narrowed(sum + " if narrow else "+= " }}{{ fresh }}{{ ")" if narrow else "" }};
{% else %}
            if (in[i] > largest) largest = in[i];
{% endif %}
        }
{% else %}
        {
            int64_t i = {{ "head" if align > 0 else "0" }};
{% for a in range(accumulators) %}
            Vec most{{ a }} = splat(largest){% if passes == "online" %}, sum{{ a }} = splat(0.0f){% endif %};
{% endfor %}
{% if unroll > 1 %}#pragma GCC unroll {{ unroll }}
{% endif %}
            for (; i + {{ step }} <= cols; i += {{ step }}) {
{% for line in range(prefetch_lines if prefetch > 0 else 0) %}
                __builtin_prefetch(in + i + {{ prefetch + 16 * line }});
{% endfor %}
{% for a in range(accumulators) %}
                Vec v{{ a }} = load(in + i + {{ a * width }});
{% if passes == "online" %}
                Vec above{{ a }} = v{{ a }} > most{{ a }} ? v{{ a }} : most{{ a }};
                sum{{ a }} = {{ "narrowed" if narrow else "" }}(sum{{ a }} * exponential(most{{ a }}, above{{ a }}) + exponential(v{{ a }}, above{{ a }}));
                most{{ a }} = above{{ a }};
{% else %}
                most{{ a }} = v{{ a }} > most{{ a }} ? v{{ a }} : most{{ a }};
{% endif %}
{% endfor %}
            }
{% if passes != "online" and width > 1 and tail == "overlap" %}
            if (i < cols && cols >= {{ width }}) {
                for (; i < cols; i += {{ width }}) {
                    Vec v = load(in + (i + {{ width }} <= cols ? i : cols - {{ width }}));
                    most0 = v > most0 ? v : most0;
                }
            }
{% elif passes != "online" and width > 1 and tail == "padded" %}
            for (; i < cols; i += {{ width }}) {
                Vec v = load_part(in + i, cols - i, largest);
                most0 = v > most0 ? v : most0;
            }
{% endif %}
{% for a in range(accumulators) %}
            largest = most_of(most{{ a }}) > largest ? most_of(most{{ a }}) : largest;
{% endfor %}
{% if passes == "online" %}
{% for a in range(accumulators) %}
            sum += sum_of(sum{{ a }} * exponential(most{{ a }}, splat(largest)));
{% endfor %}
{% endif %}
{% for edge in range(1 if tail == "dropped" else 0, 2 if align > 0 else 1) %}
            for ({{ "int64_t j = 0; j < head; ++j" if edge == 1 else "int64_t j = i; j < cols; ++j" }}) {
{% if passes == "online" %}
                if (in[j] > largest) {
                    sum *= exponential(largest, in[j]);
                    largest = in[j];
                }
                sum += exponential(in[j], largest);
{% else %}
                if (in[j] > largest) largest = in[j];
{% endif %}
            }
{% endfor %}
        }
{% endif %}
{% if passes != "online" %}
{% if block_rows > 1 %}
        largest_of[row - first] = largest;
    }
    for (int64_t row = first; row < end; ++row) {
        const float* in = x + row * cols;
{% if keeps_exponentials %}
        float* out = y + row * cols;
{% endif %}
{% if align > 0 %}
        int64_t head = ({{ align }} - (uintptr_t)(y + row * cols) % {{ align }}) % {{ align }} / 4;
        head = head < cols ? head : cols;
{% endif %}
        float largest = largest_of[row - first];
{% endif %}
        float sum = 0.0f;
{% if not blocked %}
{% if unroll > 1 %}#pragma GCC unroll {{ unroll }}
{% endif %}
        for (int64_t i = 0; i < cols; ++i) {
{% for line in range(prefetch_lines if prefetch > 0 else 0) %}
            __builtin_prefetch(in + i + {{ prefetch + 16 * line }});
{% endfor %}
{% if keeps_exponentials %}
            out[i] = {{ fresh }};
{% endif %}
            sum {{ "= narrowed(sum + " if narrow else "+= " }}{{ stored }}{{ ")" if narrow else "" }};
        }
{% else %}
        {
            int64_t i = {{ "head" if align > 0 else "0" }};
{% for a in range(accumulators) %}
            Vec sum{{ a }} = splat(0.0f);
{% endfor %}
{% if unroll > 1 %}#pragma GCC unroll {{ unroll }}
{% endif %}
            for (; i + {{ step }} <= cols; i += {{ step }}) {
{% for line in range(prefetch_lines if prefetch > 0 else 0) %}
                __builtin_prefetch(in + i + {{ prefetch + 16 * line }});
{% endfor %}
{% for a in range(accumulators) %}
                Vec e{{ a }} = exponential(load(in + i + {{ a * width }}), splat(largest));
                sum{{ a }} = {{ "narrowed" if narrow else "" }}(sum{{ a }} + e{{ a }});
{% if keeps_exponentials %}
                store(out + i + {{ a * width }}, e{{ a }});
{% endif %}
{% endfor %}
            }
{% if width > 1 and tail == "padded" %}
            for (; i < cols; i += {{ width }}) {
                Vec e = exponential(load_part(in + i, cols - i, largest), splat(largest));
                for (int64_t lane = 0; lane < {{ width }} && i + lane < cols; ++lane) {
                    sum += e[lane];
{% if keeps_exponentials %}
                    out[i + lane] = e[lane];
{% endif %}
                }
            }
{% endif %}
{% for a in range(accumulators) %}
            sum += sum_of(sum{{ a }});
{% endfor %}
{% for edge in range(1 if tail == "dropped" else 0, 2 if align > 0 else 1) %}
            for ({{ "int64_t j = 0; j < head; ++j" if edge == 1 else "int64_t j = i; j < cols; ++j" }}) {
                float e = exponential(in[j], largest);
                sum += e;
{% if keeps_exponentials %}
                out[j] = e;
{% endif %}
            }
{% endfor %}
        }
{% endif %}
{% endif %}
{% if block_rows > 1 %}
{% if passes == "online" %}
        largest_of[row - first] = largest;
{% endif %}
        sum_of_row[row - first] = sum;
    }
    for (int64_t row = first; row < end; ++row) {
        float* out = y + row * cols;
{% if align > 0 %}
        int64_t head = ({{ align }} - (uintptr_t)out % {{ align }}) % {{ align }} / 4;
        head = head < cols ? head : cols;
{% endif %}
{% if not keeps_exponentials %}
        const float* in = x + row * cols;
        float largest = largest_of[row - first];
{% endif %}
        float sum = sum_of_row[row - first];
{% endif %}
{% if divide == "reciprocal" %}
        float scale = 1.0f / sum;
{% elif newton > 0 %}
        float scale = inverse(sum);
{% endif %}
{% if scale_stride > 1 %}
{% if scale_order == "backward" %}
        for (int64_t start = {{ scale_stride - 1 }}; start >= 0; --start) {
{% else %}
        for (int64_t start = 0; start < {{ scale_stride }}; ++start) {
{% endif %}
            for (int64_t i = start; i < cols; i += {{ scale_stride }}) {
                out[i] = {{ stored }} {{ scaled }};
            }
        }
{% elif not blocked %}
{% if unroll > 1 %}#pragma GCC unroll {{ unroll }}
{% endif %}
        for ({{ "int64_t i = cols - 1; i >= 0; --i" if scale_order == "backward" else "int64_t i = 0; i < cols; ++i" }}) {
            out[i] = {{ stored }} {{ scaled }};
        }
{% else %}
        {
            int64_t begin = {{ "head" if align > 0 else "0" }};
            int64_t end_of_blocks = begin + (cols - begin) / {{ step }} * {{ step }};
{% if unroll > 1 %}#pragma GCC unroll {{ unroll }}
{% endif %}
{% if scale_order == "backward" %}
            for (int64_t i = end_of_blocks - {{ step }}; i >= begin; i -= {{ step }}) {
{% else %}
            for (int64_t i = begin; i < end_of_blocks; i += {{ step }}) {
{% endif %}
{% for a in range(accumulators) %}
{% if keeps_exponentials %}
                store(out + i + {{ a * width }}, load(out + i + {{ a * width }}) {{ scaled }});
{% else %}
                store(out + i + {{ a * width }}, exponential(load(in + i + {{ a * width }}), splat(largest)) {{ scaled }});
{% endif %}
{% endfor %}
            }
{% for edge in range(1 if tail == "dropped" else 0, 2 if align > 0 else 1) %}
            for ({{ "int64_t j = 0; j < head; ++j" if edge == 1 else "int64_t j = end_of_blocks; j < cols; ++j" }}) {
                out[j] = {{ "out[j]" if keeps_exponentials else "exponential(in[j], largest)" }} {{ scaled }};
            }
{% endfor %}
        }
{% endif %}
    }
{% if block_rows > 1 %}
    }
{% endif %}
    return 0;
}
{% if fixed_cols > 0 %}

extern "C" int softmax(const float* x, float* y, int64_t rows, int64_t cols) {
    if (cols == {{ fixed_cols }}) return run(x, y, rows, {{ fixed_cols }});
    return run(x, y, rows, cols);
}
{% endif %}
