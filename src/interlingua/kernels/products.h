// Products of activations with weights that were packed once: float, pairs of bfloat16, or 8-bit integers.
//
// A weight (N, K) lies in panels of PANEL outputs; inside a panel, group after group of inputs, GROUP neighbours of
// one output side by side in 32 bits. So every kind of number is the same loop: broadcast 32 bits of an activation,
// multiply with 32 bits of each output, add. Every sum is taken in the order of the inputs, whatever the number of
// rows, so that a row's result depends on nothing but the row.
// The arrangement is Goto and van de Geijn's (2008), "Anatomy of High-Performance Matrix Multiplication".
#pragma once

#include <algorithm>
#include <type_traits>

#include "native.h"

namespace {

#if defined(__AVX512F__)
constexpr int64_t WIDTH = 16;
constexpr int MOST_ROWS = 14;  // 28 sums, two weights and an activation in 32 registers
#else
constexpr int64_t WIDTH = 8;
constexpr int MOST_ROWS = 6;  // 12 sums in 16 registers
#endif
constexpr int64_t PANEL = 2 * WIDTH;
constexpr int64_t CACHED = 384 * 1024;  // bytes of activations that are kept close while all weights pass by

typedef float Floats __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));
typedef int32_t Integers __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));

// One linear map, packed. Outputs are filled up to whole panels: with zeros, and with `bias` where there is one.
struct Weight {
    const void *panels;
    const float *scale;    // of integers: one an output
    const int32_t *shift;  // of integers: what the offset of the activations adds to each sum
    const float *bias;     // (whole panels) or null
    int64_t outputs, inputs;
};

inline int64_t panels_of(int64_t outputs) { return (outputs + PANEL - 1) / PANEL; }

// Rows of activations, made ready for a product; `groups` of 32 bits in each row.
struct Rows {
    const uint32_t *data;
    int64_t stride;      // in groups
    const float *scale;  // of integers: one a row
};

inline void write(float *to, Floats x) { *reinterpret_cast<Floats *>(to) = x; }

inline void write(bf16 *to, Floats x) {  // as one number is
    typedef uint16_t Halves __attribute__((vector_size(2 * WIDTH), aligned(2), may_alias));
    typedef uint32_t Bits __attribute__((vector_size(4 * WIDTH)));
    const Bits bits = reinterpret_cast<Bits>(x), rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    *reinterpret_cast<Halves *>(to) = __builtin_convertvector(x == x ? rounded : 0x7fc0u + Bits{}, Halves);
}

// ---------------------------------------------------------------- kinds of numbers: of the weights (Element), of sums, and of what
// attention keeps (Kept), which is read more often than it is computed.

struct Single {
    typedef float Element, Kept;
    typedef Floats Sum;
    static constexpr int64_t GROUP = 1;
    static constexpr bool INTEGER = false;
    static inline Sum add(Sum sum, uint32_t activation, const void *weights) {
        float a;
        std::memcpy(&a, &activation, 4);
        return sum + a * *static_cast<const Floats *>(weights);
    }
    static inline float pack(float x) { return x; }
};

#if defined(__AVX512BF16__)
#define HAS_HALF 1
struct Half {
    typedef uint16_t Element;
    typedef bf16 Kept;
    typedef Floats Sum;
    static constexpr int64_t GROUP = 2;
    static constexpr bool INTEGER = false;
    static inline Sum add(Sum sum, uint32_t activation, const void *weights) {
        return reinterpret_cast<Sum>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum),
                                                      reinterpret_cast<__m512bh>(_mm512_set1_epi32(activation)),
                                                      reinterpret_cast<__m512bh>(_mm512_loadu_si512(weights))));
    }
    static inline uint16_t pack(float x) {
        bf16 half;
        write(half, x);
        return half.bits;
    }
};
#endif

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
#define HAS_BYTE 1
struct Byte {  // activations carry an offset of 128, because the instruction takes them unsigned
    typedef int8_t Element;
    typedef bf16 Kept;
    typedef Integers Sum;
    static constexpr int64_t GROUP = 4;
    static constexpr bool INTEGER = true;
    static constexpr int32_t OFFSET = 128;
    static inline Sum add(Sum sum, uint32_t activation, const void *weights) {
#if defined(__AVX512VNNI__)
        return reinterpret_cast<Sum>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum), _mm512_set1_epi32(activation),
                                                         _mm512_loadu_si512(weights)));
#else
        return reinterpret_cast<Sum>(_mm256_dpbusd_avx_epi32(reinterpret_cast<__m256i>(sum), _mm256_set1_epi32(activation),
                                                             _mm256_loadu_si256(static_cast<const __m256i *>(weights))));
#endif
    }
    static inline int8_t pack(float x) { return static_cast<int8_t>(x); }
};
#elif defined(__AVX2__)
#define HAS_BYTE 1
struct Byte {  // the same numbers in 16 bits each: exact, where the 8-bit instructions of AVX2 would overflow
    typedef int16_t Element;
    typedef bf16 Kept;
    typedef Integers Sum;
    static constexpr int64_t GROUP = 2;
    static constexpr bool INTEGER = true;
    static constexpr int32_t OFFSET = 0;
    static inline Sum add(Sum sum, uint32_t activation, const void *weights) {
#if defined(__AVX512BW__)
        return reinterpret_cast<Sum>(
            _mm512_add_epi32(reinterpret_cast<__m512i>(sum),
                             _mm512_madd_epi16(_mm512_set1_epi32(activation), _mm512_loadu_si512(weights))));
#else
        return reinterpret_cast<Sum>(_mm256_add_epi32(
            reinterpret_cast<__m256i>(sum), _mm256_madd_epi16(_mm256_set1_epi32(activation),
                                                              _mm256_loadu_si256(static_cast<const __m256i *>(weights)))));
#endif
    }
    static inline int16_t pack(float x) { return static_cast<int16_t>(x); }
};
#endif

template <class P> inline int64_t groups_of(int64_t inputs) { return (inputs + P::GROUP - 1) / P::GROUP; }

// ---------------------------------------------------------------- packing

// Sizes are compared as their bits, which are ordered as they are and where NaN is larger than all: a comparison of floats would lose it.
inline int32_t bits_of_size(float x) {
    int32_t bits;
    std::memcpy(&bits, &x, 4);
    return bits & 0x7fffffff;
}

inline float of_bits(int32_t bits) {
    float x;
    std::memcpy(&x, &bits, 4);
    return x;
}

// Integers are symmetric: the largest of an output's weights becomes 127 (or -127). What has a NaN has one for its scale.
template <class P>
void pack(const float *weight, int64_t outputs, int64_t inputs, void *panels, float *scale, int32_t *shift) {
    const int64_t groups = groups_of<P>(inputs);
    auto *to = static_cast<typename P::Element *>(panels);
    for (int64_t n = 0; n < panels_of(outputs) * PANEL; ++n) {
        const float *row = weight + n * inputs;
        const bool real = n < outputs;
        float factor = 1.0f;
        if (P::INTEGER) {
            int32_t bits = 0;
            for (int64_t k = 0; real && k < inputs; ++k) bits = std::max(bits, bits_of_size(row[k]));
            const float most = of_bits(bits);
            factor = most > 0.0f ? 127.0f / most : 0.0f;
            scale[n] = most / 127.0f;
        }
        int32_t total = 0;
        auto *start = to + (n / PANEL) * groups * PANEL * P::GROUP + (n % PANEL) * P::GROUP;
        for (int64_t k = 0; k < groups * P::GROUP; ++k) {
            float x = real && k < inputs ? row[k] : 0.0f;
            if (P::INTEGER) {
                x = std::nearbyint(x * factor);
                total += static_cast<int32_t>(x);
            }
            start[(k / P::GROUP) * PANEL * P::GROUP + k % P::GROUP] = P::pack(x);
        }
        if constexpr (P::INTEGER) shift[n] = total * P::OFFSET;
    }
}

// ---------------------------------------------------------------- activations

inline int64_t room_of_rows(int64_t rows, int64_t inputs) { return rows * ((inputs + 3) / 4 * 4); }  // floats, any kind

inline void make_ready(Single, const float *x, int64_t stride, int64_t, int64_t, float *, float *, Rows &out) {
    out = {reinterpret_cast<const uint32_t *>(x), stride, nullptr};
}

#if defined(HAS_HALF)
inline void make_ready(Half, const float *x, int64_t stride, int64_t rows, int64_t inputs, float *room, float *, Rows &out) {
    const int64_t groups = groups_of<Half>(inputs);
    auto *to = reinterpret_cast<uint16_t *>(room);
    for (int64_t r = 0; r < rows; ++r) {
        uint16_t *row = to + r * groups * 2;
        const float *from = x + r * stride;
        int64_t k = 0;
        for (; k + 16 <= inputs; k += 16)
            _mm256_storeu_si256(reinterpret_cast<__m256i *>(row + k),
                                reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(_mm512_loadu_ps(from + k))));
        for (; k < groups * 2; ++k) row[k] = k < inputs ? Half::pack(from[k]) : 0;
    }
    out = {reinterpret_cast<const uint32_t *>(room), groups, nullptr};
}
#endif

#if defined(HAS_BYTE)
inline float largest_of(const float *x, int64_t n) {
    Integers lanes = {};
    int64_t k = 0;
    for (; k + WIDTH <= n; k += WIDTH) {
        const Integers size = *reinterpret_cast<const Integers *>(x + k) & 0x7fffffff;
        lanes = size > lanes ? size : lanes;
    }
    int32_t most = 0;
    for (int64_t i = 0; i < WIDTH; ++i) most = std::max<int32_t>(most, lanes[i]);
    for (; k < n; ++k) most = std::max(most, bits_of_size(x[k]));
    return of_bits(most);
}

// Each row has a scale of its own, from its largest number: a result cannot depend on the rows beside it.
inline void make_ready(Byte, const float *x, int64_t stride, int64_t rows, int64_t inputs, float *room, float *scale,
                       Rows &out) {
    typedef std::conditional<Byte::OFFSET != 0, uint8_t, int16_t>::type Stored;
    const int64_t groups = groups_of<Byte>(inputs);
    auto *to = reinterpret_cast<Stored *>(room);
    for (int64_t r = 0; r < rows; ++r) {
        Stored *row = to + r * groups * Byte::GROUP;
        const float *from = x + r * stride;
        const float most = largest_of(from, inputs);
        const float factor = most > 0.0f ? 127.0f / most : 0.0f;
        scale[r] = most / 127.0f;
        int64_t k = 0;
#if defined(__AVX512VNNI__)
        const __m512 by = _mm512_set1_ps(factor);
        for (; k + 16 <= inputs; k += 16) {
            const __m512i whole = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(from + k), by));
            _mm_storeu_si128(reinterpret_cast<__m128i *>(row + k),
                             _mm_xor_si128(_mm512_cvtepi32_epi8(whole), _mm_set1_epi8(-128)));
        }
#endif
        for (; k < inputs; ++k) row[k] = static_cast<Stored>(static_cast<int32_t>(__builtin_rintf(from[k] * factor)) + Byte::OFFSET);
        for (; k < groups * Byte::GROUP; ++k) row[k] = static_cast<Stored>(Byte::OFFSET);
    }
    out = {reinterpret_cast<const uint32_t *>(room), groups, scale};
}
#endif

// ---------------------------------------------------------------- the product

// Where the weights of the next panel lie, which come from far while this one is worked with: so many bytes a group.
struct Coming {
    const char *from;
    int64_t bytes;
};

template <class P, int ROWS>
__attribute__((noinline)) void sums(const uint32_t *a, int64_t stride, const char *panel, int64_t groups, Coming coming,
                                    typename P::Sum *tile) {
    // Unrolled before the compiler decides what lives in registers: an array would be cleared and copied in memory.
    typename P::Sum sum[ROWS][2];
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; ++r) sum[r][0] = sum[r][1] = typename P::Sum{};
    for (int64_t g = 0; g < groups; ++g, panel += 4 * PANEL, coming.from += coming.bytes) {
        __builtin_prefetch(coming.from, 0, 2);
        if constexpr (4 * PANEL > 64) __builtin_prefetch(coming.from + 64, 0, 2);
#pragma GCC unroll 16
        for (int r = 0; r < ROWS; ++r) {
            sum[r][0] = P::add(sum[r][0], a[r * stride + g], panel);
            sum[r][1] = P::add(sum[r][1], a[r * stride + g], panel + 4 * WIDTH);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; ++r) {
        tile[2 * r] = sum[r][0];
        tile[2 * r + 1] = sum[r][1];
    }
}

template <class P, int ROWS = MOST_ROWS>
inline void sums_of(int64_t rows, const uint32_t *a, int64_t stride, const char *panel, int64_t groups, Coming coming,
                    typename P::Sum *tile) {
    if constexpr (ROWS > 0) {
        if (rows == ROWS)
            sums<P, ROWS>(a, stride, panel, groups, coming, tile);
        else
            sums_of<P, ROWS - 1>(rows, a, stride, panel, groups, coming, tile);
    }
}

inline Floats floats_of(Floats sum) { return sum; }
inline Floats floats_of(Integers sum) { return __builtin_convertvector(sum, Floats); }

// Compute `a` times the transposed weight, and hand the results to use(row, first output, pair of Floats): outputs of
// one panel, bias included.
template <class P, class Use> inline void product(const Rows &a, int64_t rows, const Weight &w, const Use &use) {
    const int64_t groups = groups_of<P>(w.inputs);
    const int64_t close = CACHED / (4 * groups) > MOST_ROWS ? CACHED / (4 * groups) : MOST_ROWS;
    const int64_t parts = (rows + close - 1) / close;
    typename P::Sum tile[2 * MOST_ROWS];
    for (int64_t part = 0; part < parts; ++part) {
        const int64_t begin = rows * part / parts, end = rows * (part + 1) / parts;
        const int64_t blocks = (end - begin + MOST_ROWS - 1) / MOST_ROWS;
        for (int64_t p = 0; p < panels_of(w.outputs); ++p) {
            const char *panel = static_cast<const char *>(w.panels) + p * groups * 4 * PANEL;
            Floats scale[2], bias[2] = {};
            Integers shift[2];
            for (int v = 0; v < 2; ++v) {
                const int64_t first = p * PANEL + v * WIDTH;
                if constexpr (P::INTEGER) {
                    scale[v] = *reinterpret_cast<const Floats *>(w.scale + first);
                    shift[v] = *reinterpret_cast<const Integers *>(w.shift + first);
                }
                if (w.bias) bias[v] = *reinterpret_cast<const Floats *>(w.bias + first);
            }
            const int64_t bytes = p + 1 < panels_of(w.outputs) ? (4 * PANEL + blocks - 1) / blocks : 0;  // of each group's time
            for (int64_t block = 0; block < blocks; ++block) {
                const Coming coming = {panel + groups * (bytes ? 4 * PANEL + block * bytes : 0), bytes};
                const int64_t first = begin + (end - begin) * block / blocks;
                const int64_t last = begin + (end - begin) * (block + 1) / blocks;
                sums_of<P>(last - first, a.data + first * a.stride, a.stride, panel, groups, coming, tile);
                for (int64_t r = first; r < last; ++r) {
                    Floats out[2];
                    for (int v = 0; v < 2; ++v) {
                        if constexpr (P::INTEGER)
                            out[v] = floats_of(tile[2 * (r - first) + v] - shift[v]) * (scale[v] * a.scale[r]) + bias[v];
                        else
                            out[v] = tile[2 * (r - first) + v] + bias[v];
                    }
                    use(r, p * PANEL, out);
                }
            }
        }
    }
}

}  // namespace
