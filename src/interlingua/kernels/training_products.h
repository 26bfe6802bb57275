// The matrix products of a training step in bfloat16, where the processor multiplies pairs of them (AVX512-BF16) and has no tiles for
// matrices (AMX), which torch's library uses. The plain twin is torch's @: tests/parity/test_matrix_products.py.
//
// Both factors are copied into the order in which they are read: two neighbours of the sum side by side in 32 bits, the one in
// blocks of at most MOST_ROWS rows, the other in panels of PANEL outputs. Then a tile of the result, a block times a panel, is
// summed in registers: broadcast 32 bits of each row, multiply with the panel's, add. So no sum depends on the threads.
// The arrangement is Goto and van de Geijn's (2008), "Anatomy of High-Performance Matrix Multiplication".
#pragma once

#if defined(__AVX512BF16__) && defined(__AVX512BW__) && defined(__AVX512VL__) && !defined(__AMX_BF16__)
#define HAS_TRAINING_PRODUCTS 1

#include <immintrin.h>
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "native.h"

namespace {
namespace training {

constexpr int64_t PANEL = 32;
constexpr int64_t MOST_ROWS = 14;  // 28 sums, two of the panel and one of the rows in 32 registers
constexpr int64_t CLOSE = 384 * 1024;  // bytes of packed rows, which stay in a core's own cache while all panels pass by
constexpr int64_t SHARED = 2 << 20;    // bytes of packed panels, which every core reads
constexpr int64_t APART = 64;          // bytes between two panels or blocks: without them all begin in one place of a cache, and drive each other out
constexpr int64_t DEEP = 512;          // terms that are summed at once where the result is float, and can be added to

class Room {
  public:
    explicit Room(int64_t bytes) : start(static_cast<char *>(std::aligned_alloc(64, static_cast<size_t>((bytes + 127) / 64 * 64)))) {
        if (!start) throw std::bad_alloc();
    }
    ~Room() { std::free(start); }
    Room(const Room &) = delete;
    Room &operator=(const Room &) = delete;
    char *const start;
};

// A factor as it lies in memory: `across` if what is summed over are its rows, (inputs, lines), and else (lines, inputs).
struct Factor {
    const uint16_t *numbers;
    int64_t stride;
    bool across;
    const uint16_t *at(int64_t line, int64_t input) const { return numbers + (across ? input * stride + line : line * stride + input); }
};

// Rows shared out evenly among as few blocks as will do.
struct Blocks {
    int64_t count, least, more;
    explicit Blocks(int64_t rows) : count((rows + MOST_ROWS - 1) / MOST_ROWS), least(rows / std::max<int64_t>(count, 1)), more(rows - least * count) {}
    int64_t start(int64_t k) const { return k * least + std::min(k, more); }
    int64_t size(int64_t k) const { return least + (k < more); }
};

inline int64_t share(int64_t all, int64_t part, int64_t parts) { return all * part / parts; }

inline __mmask32 first(int64_t n) { return n >= 32 ? 0xffffffffu : (1u << n) - 1u; }

// ---------------------------------------------------------------- packing

// At most 16 lines, which lie one after the other, an even number of inputs of each; writes 16 lanes, group after group,
// `apart` from each other: what is too much is written again with the next group.
inline void pack_along(const uint16_t *x, int64_t stride, int64_t lines, int64_t groups, uint32_t *to, int64_t apart) {
    for (int64_t g = 0; g < groups; g += 16) {
        const int64_t left = std::min<int64_t>(16, groups - g);
        const __mmask16 mask = static_cast<__mmask16>(first(left));
        Lanes line[LANES];  // of 32 bits, whatever they mean
#pragma GCC unroll 16
        for (int i = 0; i < LANES; ++i)
            line[i] = i < lines ? reinterpret_cast<Lanes>(_mm512_maskz_loadu_epi32(mask, x + i * stride + 2 * g)) : Lanes{};
        turn_over(line);
        for (int64_t i = 0; i < left; ++i) _mm512_storeu_si512(to + (g + i) * apart, reinterpret_cast<__m512i>(line[i]));
    }
}

// One group of at most 16 lines which lie side by side: the numbers of two rows alternate; without a second row, with zeros.
inline __m512i alternate(const uint16_t *row, const uint16_t *next, int64_t lines) {
    const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4,
                                           19, 3, 18, 2, 17, 1, 16, 0);
    const __mmask16 mask = static_cast<__mmask16>(first(std::min<int64_t>(lines, 16)));
    const __m256i low = _mm256_maskz_loadu_epi16(mask, row);
    const __m256i high = next ? _mm256_maskz_loadu_epi16(mask, next) : _mm256_setzero_si256();
    return _mm512_permutexvar_epi16(order, _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
}

// The panels of some inputs, `step` bytes from one to the next; threads share the work, and wait for each other.
inline void pack_panels(const Factor &b, int64_t outputs, int64_t begin, int64_t inputs, char *panels, int64_t step) {
    const int64_t groups = (inputs + 1) / 2, whole = (outputs + PANEL - 1) / PANEL * PANEL;
    if (b.across) {
#pragma omp for schedule(static)
        for (int64_t g = 0; g < groups; ++g)
            for (int64_t n = 0; n < whole; n += 16) {
                const uint16_t *row = b.at(n, begin + 2 * g), *next = 2 * g + 1 < inputs ? row + b.stride : nullptr;
                __builtin_prefetch(row + 8 * b.stride);
                __builtin_prefetch(row + 9 * b.stride);
                _mm512_storeu_si512(panels + n / PANEL * step + (g * PANEL + n % PANEL) * 4,
                                    n < outputs ? alternate(row, next, outputs - n) : _mm512_setzero_si512());
            }
    } else {
#pragma omp for schedule(static)
        for (int64_t n = 0; n < whole; n += 16)
            pack_along(b.at(n, begin), b.stride, std::min<int64_t>(16, outputs - n), groups,
                       reinterpret_cast<uint32_t *>(panels + n / PANEL * step) + n % PANEL, PANEL);
    }
}

// The blocks of some rows and inputs, `step` numbers from one to the next.
inline void pack_rows(const Factor &a, int64_t begin, const Blocks &blocks, int64_t from, int64_t inputs, uint32_t *to, int64_t step) {
    const int64_t groups = (inputs + 1) / 2;
    if (a.across) {
        for (int64_t g = 0; g < groups; ++g) {
            const uint16_t *row = a.at(begin, from + 2 * g), *next = 2 * g + 1 < inputs ? row + a.stride : nullptr;
            for (int64_t k = 0; k < blocks.count; ++k) {
                const int64_t start = blocks.start(k), size = blocks.size(k);
                _mm512_mask_storeu_epi32(to + k * step + g * size, static_cast<__mmask16>(first(size)),
                                         alternate(row + start, next ? next + start : nullptr, size));
            }
        }
    } else
        for (int64_t k = 0; k < blocks.count; ++k)
            pack_along(a.at(begin + blocks.start(k), from), a.stride, blocks.size(k), groups, to + k * step, blocks.size(k));
}

// ---------------------------------------------------------------- a tile

inline void put(uint16_t *to, __m512 left, __m512 right, int64_t width, bool) {
    _mm512_mask_storeu_epi16(to, first(width), reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(right, left)));
}

inline void put(float *to, __m512 left, __m512 right, int64_t width, bool add) {
    const __mmask16 low = static_cast<__mmask16>(first(width)), high = static_cast<__mmask16>(first(width) >> 16);
    if (add) {
        left = _mm512_add_ps(left, _mm512_maskz_loadu_ps(low, to));
        right = _mm512_add_ps(right, _mm512_maskz_loadu_ps(high, to + 16));
    }
    _mm512_mask_storeu_ps(to, low, left);
    _mm512_mask_storeu_ps(to + 16, high, right);
}

template <int ROWS, class Out>
__attribute__((noinline)) void tile(const uint32_t *rows, const char *panel, int64_t groups, Out *to, int64_t stride, int64_t width,
                                    bool add) {
    for (int r = 0; r < ROWS; ++r)  // what is written is fetched meanwhile
        for (size_t c = 0; c < PANEL; c += 64 / sizeof(Out)) __builtin_prefetch(to + r * stride + c, 1);
    __m512 sum[ROWS][2];
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; ++r) sum[r][0] = sum[r][1] = _mm512_setzero_ps();
    for (int64_t g = 0; g < groups; ++g, panel += 4 * PANEL, rows += ROWS) {
        const __m512bh left = reinterpret_cast<__m512bh>(_mm512_loadu_si512(panel));
        const __m512bh right = reinterpret_cast<__m512bh>(_mm512_loadu_si512(panel + 64));
#pragma GCC unroll 16
        for (int r = 0; r < ROWS; ++r) {
            const __m512bh both = reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(rows[r])));
            sum[r][0] = _mm512_dpbf16_ps(sum[r][0], both, left);
            sum[r][1] = _mm512_dpbf16_ps(sum[r][1], both, right);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; ++r) put(to + r * stride, sum[r][0], sum[r][1], width, add);
}

template <class Out, int ROWS = MOST_ROWS>
inline void tile_of(int64_t size, const uint32_t *rows, const char *panel, int64_t groups, Out *to, int64_t stride, int64_t width, bool add) {
    if constexpr (ROWS > 0) {
        if (size == ROWS)
            tile<ROWS>(rows, panel, groups, to, stride, width, add);
        else
            tile_of<Out, ROWS - 1>(size, rows, panel, groups, to, stride, width, add);
    }
}

// ---------------------------------------------------------------- the product

// What will be packed next, fetched a little before each tile.
struct Coming {
    const uint16_t *from = nullptr;
    int64_t stride = 0, rows = 0, width = 0;
    void fetch(int64_t tile, int64_t tiles) const {
        for (int64_t r = share(rows, tile, tiles); r < share(rows, tile + 1, tiles); ++r)
            for (int64_t c = 0; c < width; c += 32) __builtin_prefetch(from + r * stride + c, 0, 2);
    }
};

inline Coming coming(const Factor &a, int64_t row, int64_t rows, int64_t input, int64_t inputs) {
    return a.across ? Coming{a.at(row, input), a.stride, inputs, rows} : Coming{a.at(row, input), a.stride, rows, inputs};
}

// out (rows, outputs): the sum over `inputs` of a's times b's, or with `add` that and what `out` held. Only what is float can be summed in
// several steps, or added to.
template <class Out>
void product(int64_t rows, int64_t outputs, int64_t inputs, const Factor &a, const Factor &b, Out *out, bool add, int threads) {
    constexpr bool STEPS = sizeof(Out) == 4;
    const int64_t panels = (outputs + PANEL - 1) / PANEL;
    const int64_t slab = STEPS ? std::min(inputs, std::max(DEEP, SHARED / (panels * PANEL * 2) / DEEP * DEEP)) : inputs;
    const int64_t depth = STEPS ? std::min(DEEP, slab) : inputs, most_groups = (depth + 1) / 2;
    const int64_t most = std::max<int64_t>(1, CLOSE / (4 * most_groups) / MOST_ROWS) * MOST_ROWS;  // rows that are packed at once
    const int64_t panel_step = (slab + 1) / 2 * 4 * PANEL + APART, block_step = MOST_ROWS * most_groups + APART / 4;
    const int64_t blocks_room = (most / MOST_ROWS * block_step * 4 + 127) / 64 * 64;  // whole lanes may be written at the end
    Room panels_room(panels * panel_step), rows_room(threads * blocks_room);
#pragma omp parallel num_threads(threads)
    {
        const int64_t thread = omp_get_thread_num(), team = omp_get_num_threads();
        auto *packed = reinterpret_cast<uint32_t *>(rows_room.start + thread * blocks_room);
        const int64_t begin = share(rows, thread, team), end = share(rows, thread + 1, team);
        const int64_t parts = (end - begin + most - 1) / most;
        for (int64_t base = 0; base < inputs; base += slab) {
            const int64_t height = std::min(slab, inputs - base);
            pack_panels(b, outputs, base, height, panels_room.start, panel_step);
            for (int64_t part = 0; part < parts; ++part) {
                const int64_t row = begin + share(end - begin, part, parts), next = begin + share(end - begin, part + 1, parts);
                const Blocks blocks(next - row);
                for (int64_t from = 0; from < height; from += depth) {
                    const int64_t here = std::min(depth, height - from);
                    pack_rows(a, row, blocks, base + from, here, packed, block_step);
                    Coming then;
                    if (from + depth < height)
                        then = coming(a, row, next - row, base + from + depth, std::min(depth, height - from - depth));
                    else if (part + 1 < parts)
                        then = coming(a, next, std::min(end - next, next - row), base, depth);
                    for (int64_t i = 0; i < panels * blocks.count; ++i) {
                        const int64_t p = i / blocks.count, k = i % blocks.count;
                        then.fetch(i, panels * blocks.count);
                        tile_of<Out>(blocks.size(k), packed + k * block_step, panels_room.start + p * panel_step + from * 2 * PANEL,
                                     (here + 1) / 2, out + (row + blocks.start(k)) * outputs + p * PANEL, outputs,
                                     std::min(PANEL, outputs - p * PANEL), add || base + from > 0);
                    }
                }
            }
#pragma omp barrier
        }
    }
}

}  // namespace training
}  // namespace
#endif
