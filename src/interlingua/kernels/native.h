// What the compiled kernels share: how numbers are stored, lanes as wide as a register, and the exponential.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace {

struct bf16 {
    uint16_t bits;
};

inline float read(float x) { return x; }

inline float read(bf16 x) {
    const uint32_t bits = static_cast<uint32_t>(x.bits) << 16;
    float f;
    std::memcpy(&f, &bits, 4);
    return f;
}

inline void write(float &to, float x) { to = x; }

inline void write(bf16 &to, float x) {  // round to nearest, ties to even; a NaN stays one
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    to.bits = static_cast<uint16_t>(x == x ? rounded : 0x7fc0u);
}

// exp by 2^n times a polynomial on [-ln 2 / 2, ln 2 / 2] (Cephes' coefficients); relative error below 2e-7.
inline float exponential(float x) {
    x = x < -87.0f ? -87.0f : x;
    const float n = __builtin_rintf(x * 1.44269504088896341f);
#if defined(__FMA__) || defined(__aarch64__)  // else a call of a function, and the plain way is as good
    const float r = __builtin_fmaf(n, 2.12194440e-4f, __builtin_fmaf(n, -0.693359375f, x));
#else
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
#endif
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    const int32_t bits = (static_cast<int32_t>(n) + 127) << 23;
    float power;
    std::memcpy(&power, &bits, 4);
    return p * power;
}

#if defined(__AVX512F__)
constexpr int64_t LANES = 16;
#else  // one register; of two the compiler would make a detour through memory
constexpr int64_t LANES = 8;
#endif
typedef float Lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

inline Lanes lanes_of(const float *x) { return *reinterpret_cast<const Lanes *>(x); }

inline Lanes lanes_of(const bf16 *x) {
#if defined(__AVX512F__)  // the compiler would widen eight at a time
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(x)));
    return reinterpret_cast<Lanes>(_mm512_slli_epi32(wide, 16));
#else
    typedef uint16_t Halves __attribute__((vector_size(2 * LANES), aligned(2), may_alias));
    typedef uint32_t Bits __attribute__((vector_size(4 * LANES)));
    return reinterpret_cast<Lanes>(__builtin_convertvector(*reinterpret_cast<const Halves *>(x), Bits) << 16);
#endif
}

typedef int32_t Flags __attribute__((vector_size(4 * LANES)));  // of a comparison: all bits or none

inline void store(float *to, Lanes x) { *reinterpret_cast<Lanes *>(to) = x; }

inline void store(bf16 *to, Lanes x) {
#if defined(__AVX512BF16__)  // as write() rounds, but for subnormal numbers, which become zero
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(to),
                        reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(x))));
#else
    typedef uint16_t Halves __attribute__((vector_size(2 * LANES), aligned(2), may_alias));
    typedef uint32_t Bits __attribute__((vector_size(4 * LANES)));
    const Bits bits = reinterpret_cast<Bits>(x), rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    *reinterpret_cast<Halves *>(to) = __builtin_convertvector(x == x ? rounded : 0x7fc0u + Bits{}, Halves);
#endif
}

// One step of turning a block of LANES by LANES over: exchange what lies STEP off the diagonal.
template <int STEP> inline void exchange(Lanes *rows) {
    typedef int32_t Picks __attribute__((vector_size(4 * LANES)));
    Picks upper, lower;
    for (int l = 0; l < LANES; ++l) {
        upper[l] = l & STEP ? LANES + l - STEP : l;
        lower[l] = l & STEP ? LANES + l : l + STEP;
    }
    for (int i = 0; i < LANES; ++i)
        if (!(i & STEP)) {
            const Lanes a = rows[i], b = rows[i + STEP];
            rows[i] = __builtin_shuffle(a, b, upper);
            rows[i + STEP] = __builtin_shuffle(a, b, lower);
        }
}

// Turn a block of LANES by LANES over.
inline void turn_over(Lanes *rows) {
    if constexpr (LANES > 8) exchange<8>(rows);
    exchange<4>(rows);
    exchange<2>(rows);
    exchange<1>(rows);
}

inline Lanes exponentials(Lanes x) {
#if defined(__AVX512DQ__)
    // The same by 2^floor(y) times 2^(the rest of y), a polynomial fitted on [0, 1). Its relative error is below 2e-7, and
    // the rounding of y adds 6e-8 times the size of x. What is too small for a float becomes zero.
    const __m512 y = reinterpret_cast<__m512>(x * 1.44269504088896341f);
    const Lanes r = reinterpret_cast<Lanes>(_mm512_reduce_ps(y, 1));
    Lanes p = 1.8775767e-3f + Lanes{};
    for (const float next : {8.9893403e-3f, 5.5826318e-2f, 2.4015362e-1f, 6.9315307e-1f, 9.9999993e-1f}) p = p * r + next;
    return reinterpret_cast<Lanes>(_mm512_scalef_ps(reinterpret_cast<__m512>(p), y));
#else
    Lanes e;
    for (int64_t l = 0; l < LANES; ++l) e[l] = exponential(x[l]);
    return e;
#endif
}

inline int64_t whole(int64_t n) { return (n + LANES - 1) / LANES * LANES; }

// Written with lanes because a maximum that respects NaN is not taken several at a time otherwise.
inline float highest_of(const float *x, int64_t n) {
    float highest = x[0];
    int64_t i = 0;
    if (n >= LANES) {
        Lanes most = *reinterpret_cast<const Lanes *>(x);
        for (i = LANES; i + LANES <= n; i += LANES) {
            const Lanes next = *reinterpret_cast<const Lanes *>(x + i);
            most = next > most ? next : most;
        }
        for (int64_t l = 0; l < LANES; ++l) highest = most[l] > highest ? most[l] : highest;
    }
    for (; i < n; ++i) highest = x[i] > highest ? x[i] : highest;
    return highest;
}

}  // namespace
