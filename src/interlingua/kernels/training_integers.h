// The matrix products of a training step in 8-bit integers, for whoever asks for them (training.dtype = "int8"). Each line of a factor, which
// is what one row or one column of the result is made of, is rounded to steps of a 127th of its largest number; the products of integers
// are exact, and are scaled back. The plain twin is in tests/parity/test_integer_products.py.
//
// Four neighbours of the sum lie side by side in 32 bits; blocks, panels and tiles are those of training_products.h.
// Source: Wortsman et al. 2023, "Stable and low-precision training for large-scale vision-language models" (a scale a line; they leave
// gradients of weights in 16 bits, which are here summed over DEEP_IN_INTEGERS tokens at a time, each time with scales of their own).
#pragma once

#include <utility>

#include "training_products.h"

#if defined(HAS_TRAINING_PRODUCTS) && defined(__AVX512VNNI__)
#define HAS_INTEGER_PRODUCTS 1

namespace {
namespace training {

constexpr int64_t DEEP_IN_INTEGERS = 1024;
constexpr int32_t OFFSET = 128;  // of the one factor, which the instruction takes unsigned
typedef int32_t Whole __attribute__((vector_size(64), aligned(4), may_alias));  // of __m512i the compiler would keep arrays in memory

// How the numbers of a factor become integers: to the nearest, or, so that the mean is right however small they are, up or down by lot.
enum class Rounding { NEAREST, STOCHASTIC };

inline __m512 floats_of(__m256i bf16s) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bf16s), 16)); }

inline __m256i sizes_of(__m256i bf16s) { return _mm256_and_si256(bf16s, _mm256_set1_epi16(0x7fff)); }  // ordered as their bits are

// 16 numbers between -0.5 and 0.5 for 16 places of a line, spread evenly along and across: they are to be right in the mean, and need not look
// drawn. Roberts 2018, "The unreasonable effectiveness of quasirandom sequences": steps of the plastic number's powers, in parts of 2^32.
inline __m512 lots(int64_t line, int64_t place) {
    constexpr uint32_t ALONG = 0xc13fa9a9u, ACROSS = 0x91e10da5u;
    const __m512i lanes = _mm512_mullo_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi32(static_cast<int>(ALONG)));
    const uint32_t start = static_cast<uint32_t>(place) * ALONG + static_cast<uint32_t>(line) * ACROSS;
    return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_add_epi32(lanes, _mm512_set1_epi32(static_cast<int>(start)))), _mm512_set1_ps(0x1p-32f));
}

inline __m512i rounded(__m512 x, __m512 factor, Rounding how, int64_t line, int64_t place) {
    return _mm512_cvtps_epi32(how == Rounding::NEAREST ? _mm512_mul_ps(x, factor) : _mm512_fmadd_ps(x, factor, lots(line, place)));
}

// How many steps the largest number has: no lot may bring it to 128.
inline float steps_of(Rounding how) { return how == Rounding::NEAREST ? 127.0f : 126.5f; }

// One line whose numbers lie one after the other, as bytes up to a whole group; returns what those that are not lifted come to together.
inline int32_t round_along(const uint16_t *x, int64_t inputs, int64_t line, bool lifted, Rounding how, char *to, float *scale) {
    const int64_t filled = (inputs + 3) / 4 * 4, whole = inputs / 16 * 16;
    const auto rest = static_cast<__mmask16>(first(inputs - whole));
    __m256i most = sizes_of(_mm256_maskz_loadu_epi16(rest, x + whole));
    for (int64_t k = 0; k < whole; k += 16) most = _mm256_max_epu16(most, sizes_of(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(x + k))));
    // As bits: a maximum of floats would lose a NaN.
    const float size = read(bf16{static_cast<uint16_t>(_mm512_reduce_max_epi32(_mm512_cvtepu16_epi32(most)))}), steps = steps_of(how);
    *scale = size / steps;
    const __m512 factor = _mm512_set1_ps(size > 0.0f ? steps / size : 0.0f);
    const __m128i lift = _mm_set1_epi8(lifted ? -OFFSET : 0);
    const auto bytes = [&](__m256i numbers, int64_t k) { return _mm512_cvtepi32_epi8(rounded(floats_of(numbers), factor, how, line, k)); };
    for (int64_t k = 0; k < whole; k += 16)
        _mm_storeu_si128(reinterpret_cast<__m128i *>(to + k), _mm_xor_si128(lift, bytes(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(x + k)), k)));
    if (filled > whole)
        _mm_mask_storeu_epi8(to + whole, static_cast<__mmask16>(first(filled - whole)), _mm_xor_si128(lift, bytes(_mm256_maskz_loadu_epi16(rest, x + whole), whole)));
    __m512i total = _mm512_setzero_si512();
    if (!lifted)
        for (int64_t k = 0; k < filled; k += 64)
            total = _mm512_dpbusd_epi32(total, _mm512_set1_epi8(1), _mm512_maskz_loadu_epi8(filled - k >= 64 ? ~0ull : (1ull << (filled - k)) - 1, to + k));
    return _mm512_reduce_add_epi32(total);
}

// What is known of some lines beside their integers.
struct Lines {
    float *scale;
    int32_t *shift;  // what the OFFSET of the other factor adds to a sum; of lines that are lifted themselves there is none
    Lines from(int64_t line) const { return {scale + line, shift + line}; }
};

// At most 16 lines whose numbers lie one after the other, from input `from` on: 32 bits of each line side by side, `apart` from group to
// group. `room` is for 16 lines of bytes.
inline void pack_lines_along(const Factor &x, int64_t line, int64_t count, int64_t from, int64_t inputs, bool lifted, Rounding how, uint32_t *to,
                             int64_t apart, char *room, Lines found) {
    const int64_t groups = (inputs + 3) / 4;
    for (int64_t i = 0; i < count; ++i) {
        const int32_t total = round_along(x.at(line + i, from), inputs, line + i, lifted, how, room + i * groups * 4, found.scale + i);
        if (!lifted) found.shift[i] = OFFSET * total;
    }
    pack_along(reinterpret_cast<const uint16_t *>(room), 2 * groups, count, groups, to, apart);
}

// The scales of lines that lie side by side, and what their numbers are multiplied with; `most` is for as many numbers and 32 more.
inline void measure_across(const Factor &x, int64_t line, int64_t count, int64_t from, int64_t inputs, Rounding how, uint16_t *most, float *factor,
                           float *scale) {
    const __m512i size = _mm512_set1_epi16(0x7fff);
    std::memset(most, 0, static_cast<size_t>(2 * count + 64));
    for (int64_t k = 0; k < inputs; ++k) {
        const uint16_t *row = x.at(line, from + k);
        for (int64_t i = 0; i < count; i += 32) {
            __builtin_prefetch(row + 8 * x.stride + i);
            const __m512i here = _mm512_and_si512(size, _mm512_maskz_loadu_epi16(first(count - i), row + i));
            _mm512_storeu_si512(most + i, _mm512_max_epu16(here, _mm512_loadu_si512(most + i)));
        }
    }
    for (int64_t i = 0; i < count; ++i) {
        const float largest = read(bf16{most[i]}), steps = steps_of(how);
        scale[i] = largest / steps;
        factor[i] = largest > 0.0f ? steps / largest : 0.0f;
    }
}

// One group of at most 16 lines that lie side by side and are measured: 32 bits of each.
inline __m512i group_across(const Factor &x, int64_t line, __mmask16 mask, int64_t from, int64_t inputs, Rounding how, __m512 factor) {
    __m128i byte[4];
    for (int j = 0; j < 4; ++j) {
        const __mmask16 real = j < inputs ? mask : 0;
        byte[j] = _mm512_cvtepi32_epi8(rounded(floats_of(_mm256_maskz_loadu_epi16(real, x.at(line, from + j))), factor, how, from + j, line));
    }
    const __m128i low[2] = {_mm_unpacklo_epi8(byte[0], byte[1]), _mm_unpacklo_epi8(byte[2], byte[3])};
    const __m128i high[2] = {_mm_unpackhi_epi8(byte[0], byte[1]), _mm_unpackhi_epi8(byte[2], byte[3])};
    const __m256i first_half = _mm256_set_m128i(_mm_unpackhi_epi16(low[0], low[1]), _mm_unpacklo_epi16(low[0], low[1]));
    const __m256i second_half = _mm256_set_m128i(_mm_unpackhi_epi16(high[0], high[1]), _mm_unpacklo_epi16(high[0], high[1]));
    return _mm512_inserti64x4(_mm512_castsi256_si512(first_half), second_half, 1);
}

template <int ROWS, class Out>
__attribute__((noinline)) void integer_tile(const uint32_t *rows, const char *panel, int64_t groups, const float *row_scale, Lines of_panel, Out *to,
                                            int64_t stride, int64_t width, bool add) {
    for (int r = 0; r < ROWS; ++r)
        for (size_t c = 0; c < PANEL; c += 64 / sizeof(Out)) __builtin_prefetch(to + r * stride + c, 1);
    Whole sum[ROWS][2];
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; ++r) sum[r][0] = sum[r][1] = Whole{};
    for (int64_t g = 0; g < groups; ++g, panel += 4 * PANEL, rows += ROWS) {
        const __m512i left = _mm512_loadu_si512(panel), right = _mm512_loadu_si512(panel + 64);
#pragma GCC unroll 16
        for (int r = 0; r < ROWS; ++r) {
            const __m512i four = _mm512_set1_epi32(static_cast<int>(rows[r]));
            sum[r][0] = reinterpret_cast<Whole>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum[r][0]), four, left));
            sum[r][1] = reinterpret_cast<Whole>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum[r][1]), four, right));
        }
    }
    const Lanes left_scale = lanes_of(of_panel.scale), right_scale = lanes_of(of_panel.scale + 16);
    const Whole left_shift = *reinterpret_cast<const Whole *>(of_panel.shift), right_shift = *reinterpret_cast<const Whole *>(of_panel.shift + 16);
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; ++r)
        put(to + r * stride, reinterpret_cast<__m512>(__builtin_convertvector(sum[r][0] - left_shift, Lanes) * (row_scale[r] * left_scale)),
            reinterpret_cast<__m512>(__builtin_convertvector(sum[r][1] - right_shift, Lanes) * (row_scale[r] * right_scale)), width, add);
}

template <class Out, int ROWS = MOST_ROWS>
inline void integer_tile_of(int64_t size, const uint32_t *rows, const char *panel, int64_t groups, const float *row_scale, Lines of_panel, Out *to,
                            int64_t stride, int64_t width, bool add) {
    if constexpr (ROWS > 0) {
        if (size == ROWS)
            integer_tile<ROWS>(rows, panel, groups, row_scale, of_panel, to, stride, width, add);
        else
            integer_tile_of<Out, ROWS - 1>(size, rows, panel, groups, row_scale, of_panel, to, stride, width, add);
    }
}

inline int64_t lines_of_cache(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// What a thread packs into: blocks of rows, and what is needed meanwhile.
struct Bench {
    uint32_t *blocks;
    char *bytes;
    uint16_t *most;
    float *factor;
    float *scale;
    int64_t size;

    Bench(char *start, int64_t rows_at_once, int64_t step, int64_t inputs) {
        char *at = start;
        const auto take = [&](int64_t wanted) { return std::exchange(at, at + lines_of_cache(wanted + 64)); };
        blocks = reinterpret_cast<uint32_t *>(take(rows_at_once / MOST_ROWS * step * 4 + 64));  // whole lanes may be written at the end
        bytes = take(16 * (inputs + 4));
        const int64_t lines = std::max(rows_at_once, PANEL) + 32;
        most = reinterpret_cast<uint16_t *>(take(2 * lines));
        factor = reinterpret_cast<float *>(take(4 * lines));
        scale = reinterpret_cast<float *>(take(4 * lines));
        size = at - start;
    }
};

inline void pack_integer_panel(const Factor &b, int64_t n, int64_t count, int64_t from, int64_t inputs, uint32_t *to, const Bench &bench, Lines found) {
    if (b.across) measure_across(b, n, count, from, inputs, Rounding::NEAREST, bench.most, bench.factor, found.scale);
    for (int64_t i = 0; i < count; i += 16) {
        const int64_t some = std::min<int64_t>(16, count - i);
        if (!b.across) {
            pack_lines_along(b, n + i, some, from, inputs, false, Rounding::NEAREST, to + i, PANEL, bench.bytes, found.from(i));
            continue;
        }
        const auto mask = static_cast<__mmask16>(first(some));
        const __m512 factor = _mm512_maskz_loadu_ps(mask, bench.factor + i);
        __m512i total = _mm512_setzero_si512();
        for (int64_t k = 0; k < inputs; k += 4) {
            const __m512i four = group_across(b, n + i, mask, from + k, inputs - k, Rounding::NEAREST, factor);
            total = _mm512_dpbusd_epi32(total, _mm512_set1_epi8(-OFFSET), four);  // as the tile will lift them
            _mm512_storeu_si512(to + k / 4 * PANEL + i, four);
        }
        _mm512_mask_storeu_epi32(found.shift + i, mask, total);
    }
}

inline void pack_integer_rows(const Factor &a, int64_t row, const Blocks &blocks, int64_t from, int64_t inputs, Rounding how, int64_t step,
                              const Bench &bench) {
    if (!a.across) {
        for (int64_t k = 0; k < blocks.count; ++k)
            pack_lines_along(a, row + blocks.start(k), blocks.size(k), from, inputs, true, how, bench.blocks + k * step, blocks.size(k), bench.bytes,
                             {bench.scale + blocks.start(k), nullptr});
        return;
    }
    measure_across(a, row, blocks.start(blocks.count), from, inputs, how, bench.most, bench.factor, bench.scale);
    for (int64_t i = 0; i < inputs; i += 4)
        for (int64_t k = 0; k < blocks.count; ++k) {
            const int64_t start = blocks.start(k), size = blocks.size(k);
            const auto mask = static_cast<__mmask16>(first(size));
            const __m512i four = group_across(a, row + start, mask, from + i, inputs - i, how, _mm512_maskz_loadu_ps(mask, bench.factor + start));
            _mm512_mask_storeu_epi32(bench.blocks + k * step + i / 4 * size, mask, _mm512_xor_si512(four, _mm512_set1_epi8(-OFFSET)));
        }
}

// out (rows, outputs): the sum over `inputs` of a's times b's, or with `add` that and what `out` held; `how` is said of a. What is float is
// summed in several steps. A sum of integers stays below 2^31 up to 66,000 inputs.
template <class Out>
void integer_product(int64_t rows, int64_t outputs, int64_t inputs, const Factor &a, const Factor &b, Out *out, bool add, Rounding how, int threads) {
    constexpr bool STEPS = sizeof(Out) == 4;
    const int64_t panels = (outputs + PANEL - 1) / PANEL, depth = STEPS ? std::min(inputs, DEEP_IN_INTEGERS) : inputs, most_groups = (depth + 3) / 4;
    const int64_t most = std::max<int64_t>(1, CLOSE / (4 * most_groups) / MOST_ROWS) * MOST_ROWS;  // rows that are packed at once
    const int64_t panel_step = most_groups * 4 * PANEL + APART, block_step = MOST_ROWS * most_groups + APART / 4;
    const int64_t own = Bench(nullptr, most, block_step, depth).size;
    Room panels_room(panels * panel_step), outputs_room(2 * panels * PANEL * 4), benches(threads * own);
    std::memset(outputs_room.start, 0, static_cast<size_t>(2 * panels * PANEL * 4));  // of outputs that only fill a panel
    const Lines of_outputs = {reinterpret_cast<float *>(outputs_room.start), reinterpret_cast<int32_t *>(outputs_room.start) + panels * PANEL};
#pragma omp parallel num_threads(threads)
    {
        const int64_t thread = omp_get_thread_num(), team = omp_get_num_threads();
        const Bench bench(benches.start + thread * own, most, block_step, depth);
        const int64_t begin = share(rows, thread, team), end = share(rows, thread + 1, team);
        const int64_t parts = (end - begin + most - 1) / most;
        for (int64_t base = 0; base < inputs; base += depth) {
            const int64_t here = std::min(depth, inputs - base);
#pragma omp for schedule(static)
            for (int64_t p = 0; p < panels; ++p)
                pack_integer_panel(b, p * PANEL, std::min(PANEL, outputs - p * PANEL), base, here,
                                   reinterpret_cast<uint32_t *>(panels_room.start + p * panel_step), bench, of_outputs.from(p * PANEL));
            for (int64_t part = 0; part < parts; ++part) {
                const int64_t row = begin + share(end - begin, part, parts), next = begin + share(end - begin, part + 1, parts);
                const Blocks blocks(next - row);
                pack_integer_rows(a, row, blocks, base, here, how, block_step, bench);
                for (int64_t p = 0; p < panels; ++p)
                    for (int64_t k = 0; k < blocks.count; ++k)
                        integer_tile_of<Out>(blocks.size(k), bench.blocks + k * block_step, panels_room.start + p * panel_step, (here + 3) / 4,
                                             bench.scale + blocks.start(k), of_outputs.from(p * PANEL),
                                             out + (row + blocks.start(k)) * outputs + p * PANEL, outputs, std::min(PANEL, outputs - p * PANEL),
                                             add || base > 0);
            }
#pragma omp barrier
        }
    }
}

}  // namespace training
}  // namespace
#endif
