// Attention over sentences of different lengths without padding, forward and backward, all of a head in the cache.
//
// Scores are kept turned over: a row a key, a lane a query. Maximum, sum and mean over the keys are then taken for as
// many queries at once as there are lanes, and nothing is summed across lanes.
#pragma once

#include <omp.h>

#include <algorithm>
#include <vector>

#include "dropout.h"
#include "native.h"

namespace {

// ---------------------------------------------------------------- small products, all in the cache

enum { REPLACE, ADD };

// c (ROWS, VECTORS * LANES) = a b, or with ADD c + a b, where a has ROWS rows of k, or with TURNED k rows of ROWS.
template <int ROWS, int VECTORS, bool TURNED, int HOW>
inline void tile(const float *a, int64_t lda, const float *b, int64_t ldb, float *c, int64_t ldc, int64_t k) {
    Lanes sum[ROWS][VECTORS] = {};
    if constexpr (HOW == ADD)
        for (int r = 0; r < ROWS; ++r)
            for (int v = 0; v < VECTORS; ++v) sum[r][v] = lanes_of(c + r * ldc + v * LANES);
    for (int64_t p = 0; p < k; ++p) {
        Lanes column[VECTORS];
        for (int v = 0; v < VECTORS; ++v) column[v] = lanes_of(b + p * ldb + v * LANES);
        for (int r = 0; r < ROWS; ++r) {
            const float x = TURNED ? a[p * lda + r] : a[r * lda + p];
            for (int v = 0; v < VECTORS; ++v) sum[r][v] += x * column[v];
        }
    }
    for (int r = 0; r < ROWS; ++r)
        for (int v = 0; v < VECTORS; ++v) store(c + r * ldc + v * LANES, sum[r][v]);
}

// The rows that are left, together: alone, each would wait for its own last addition.
template <int MOST, int VECTORS, bool TURNED, int HOW>
inline void last_rows(int64_t rows, const float *a, int64_t lda, const float *b, int64_t ldb, float *c, int64_t ldc,
                      int64_t k) {
    if constexpr (MOST > 0) {
        if (rows == MOST)
            tile<MOST, VECTORS, TURNED, HOW>(a, lda, b, ldb, c, ldc, k);
        else
            last_rows<MOST - 1, VECTORS, TURNED, HOW>(rows, a, lda, b, ldb, c, ldc, k);
    }
}

template <int ROWS, int VECTORS, bool TURNED, int HOW>
inline void columns(const float *a, int64_t lda, const float *b, int64_t ldb, float *c, int64_t ldc, int64_t n,
                    int64_t k) {
    const int64_t step = TURNED ? 1 : lda;
    int64_t i = 0;
    for (; i + ROWS <= n; i += ROWS) tile<ROWS, VECTORS, TURNED, HOW>(a + i * step, lda, b, ldb, c + i * ldc, ldc, k);
    last_rows<ROWS - 1, VECTORS, TURNED, HOW>(n - i, a + i * step, lda, b, ldb, c + i * ldc, ldc, k);
}

// c (n, m) = a b, or with ADD c + a b; a is (n, k), or TURNED (k, n), and b (k, m); m is a multiple of LANES. Eight sums at
// a time.
template <bool TURNED, int HOW>
inline void multiply(const float *a, int64_t lda, const float *b, int64_t ldb, float *c, int64_t ldc, int64_t n,
                     int64_t k, int64_t m) {
    int64_t j = 0;
    for (; j + 2 * LANES <= m; j += 2 * LANES) columns<4, 2, TURNED, HOW>(a, lda, b + j, ldb, c + j, ldc, n, k);
    if (j < m) columns<8, 1, TURNED, HOW>(a, lda, b + j, ldb, c + j, ldc, n, k);
}

// out (m, ldo) = x (n, ldx) transposed; both have room for whole blocks, and rows of x beyond n count as zeros
inline void transpose(const float *x, int64_t ldx, int64_t n, int64_t m, float *out, int64_t ldo) {
    for (int64_t i = 0; i < n; i += LANES)
        for (int64_t j = 0; j < m; j += LANES) {
            Lanes rows[LANES];
            for (int64_t l = 0; l < LANES; ++l) rows[l] = i + l < n ? lanes_of(x + (i + l) * ldx + j) : Lanes{};
            turn_over(rows);
            for (int64_t l = 0; l < LANES && j + l < m; ++l) store(out + (j + l) * ldo + i, rows[l]);
        }
}

// ---------------------------------------------------------------- rows of a head

template <class T>  // out (n, whole(width)) = (x + bias) * scale, filled up with zeros
inline void unpack(const T *x, int64_t ldx, const float *bias, float scale, int64_t n, int64_t width, float *out) {
    const int64_t wide = whole(width), full = width / LANES * LANES;
    for (int64_t i = 0; i < n; ++i) {
        const T *from = x + i * ldx;
        float *row = out + i * wide;
        for (int64_t c = 0; c < full; c += LANES)
            store(row + c, (lanes_of(from + c) + (bias ? lanes_of(bias + c) : Lanes{})) * scale);
        for (int64_t c = full; c < width; ++c) row[c] = (read(from[c]) + (bias ? bias[c] : 0.0f)) * scale;
        for (int64_t c = width; c < wide; ++c) row[c] = 0.0f;
    }
}

// out (n, width) = x (n, whole(width)) * scale, and its sum over the rows
template <class T>
inline void pack(const float *x, float scale, int64_t n, int64_t width, T *out, int64_t stride, float *sums) {
    const int64_t wide = whole(width), full = width / LANES * LANES;
    for (int64_t c = 0; c < full; c += LANES) {
        Lanes sum = {};
        for (int64_t i = 0; i < n; ++i) {
            const Lanes y = lanes_of(x + i * wide + c) * scale;
            store(out + i * stride + c, y);
            sum += y;
        }
        if (sums) store(sums + c, sum);
    }
    for (int64_t c = full; c < width; ++c) {
        float sum = 0.0f;
        for (int64_t i = 0; i < n; ++i) {
            const float y = x[i * wide + c] * scale;
            write(out[i * stride + c], y);
            sum += y;
        }
        if (sums) sums[c] = sum;
    }
}

enum { TO_READ, TO_WRITE };

// Ask the memory for part `part` of `parts` of a sentence's rows, so that they are near when their turn comes.
template <int WHY, class T>
inline void fetch(const T *x, int64_t stride, int64_t width, const int32_t *offsets, int64_t sentence, int64_t part,
                  int64_t parts) {
    constexpr int64_t line = 64 / sizeof(T);
    const int64_t n = offsets[sentence + 1] - offsets[sentence];
    const T *rows = x + offsets[sentence] * stride;
    for (int64_t i = n * part / parts; i < n * (part + 1) / parts; ++i)
        for (int64_t c = 0; c < width; c += line) __builtin_prefetch(rows + i * stride + c, WHY == TO_WRITE, 2);
}

// ---------------------------------------------------------------- attention

// Sentences lie one after the other: rows offsets[b] to offsets[b + 1] are those of sentence b. Head h owns
// columns h * d to (h + 1) * d.
template <class T> struct Attention {
    int64_t sentences, heads, key_width, value_width, most_keys;
    const int32_t *query_offsets, *key_offsets;
    const T *query, *key, *value;
    int64_t query_stride, key_stride, value_stride;
    const float *query_bias, *key_bias, *value_bias;
    bool causal;
    Dropout dropout;
};

// One head of one sentence: n queries and m keys, and where its numbers begin.
template <class T> struct Head {
    int64_t sentence, head, first_query, n, first_key, m;
    const T *query, *key, *value;
    const float *query_bias, *key_bias, *value_bias;

    Head(const Attention<T> &a, int64_t task) : sentence(task / a.heads), head(task % a.heads) {
        first_query = a.query_offsets[sentence], n = a.query_offsets[sentence + 1] - first_query;
        first_key = a.key_offsets[sentence], m = a.key_offsets[sentence + 1] - first_key;
        query = a.query + first_query * a.query_stride + head * a.key_width;
        key = a.key + first_key * a.key_stride + head * a.key_width;
        value = a.value + first_key * a.value_stride + head * a.value_width;
        query_bias = a.query_bias + head * a.key_width;
        key_bias = a.key_bias + head * a.key_width;
        value_bias = a.value_bias + head * a.value_width;
    }
};

template <class T>
inline void unpack_head(const Attention<T> &a, const Head<T> &at, float scale, float *q, float *k, float *v) {
    unpack(at.query, a.query_stride, at.query_bias, scale, at.n, a.key_width, q);
    unpack(at.key, a.key_stride, at.key_bias, 1.0f, at.m, a.key_width, k);
    unpack(at.value, a.value_stride, at.value_bias, 1.0f, at.m, a.value_width, v);
}

// While one head of a sentence is computed, a share of what all heads of a later one read is fetched: the rows of a single
// head lie far apart, those of all of them side by side.
template <class T> inline void fetch_inputs(const Attention<T> &a, int64_t sentence, int64_t head) {
    const int64_t keys = a.heads * a.key_width, values = a.heads * a.value_width;
    fetch<TO_READ>(a.query, a.query_stride, keys, a.query_offsets, sentence, head, a.heads);
    fetch<TO_READ>(a.key, a.key_stride, keys, a.key_offsets, sentence, head, a.heads);
    fetch<TO_READ>(a.value, a.value_stride, values, a.key_offsets, sentence, head, a.heads);
}

inline int64_t longest(const int32_t *offsets, int64_t sentences) {
    int64_t most = 0;
    for (int64_t b = 0; b < sentences; ++b) most = offsets[b + 1] - offsets[b] > most ? offsets[b + 1] - offsets[b] : most;
    return most;
}

struct Scratch {
    float *free;
    float *take(int64_t size) {
        float *start = free;
        free += size;
        return start;
    }
};

// Which of LANES queries, the first of them `first`, may look at key j where none may look ahead.
inline Flags looks_back(int64_t first, int64_t j) {
    Flags lane;
    for (int32_t l = 0; l < LANES; ++l) lane[l] = l;
    return lane >= static_cast<int32_t>(j - first);
}

// Turns scores (m, whole(n)) of the queries from `first` on, a row a key, into probabilities: the softmax over the keys, zero
// where a query may not look.
template <bool CAUSAL> inline void softmax_over_keys(float *scores, int64_t first, int64_t n, int64_t m) {
    const int64_t wide = whole(n);
    for (int64_t i = 0; i < wide; i += LANES) {
        const int64_t seen = CAUSAL && first + i + LANES < m ? first + i + LANES : m;  // no lane looks beyond
        float *block = scores + i;
        Lanes highest = lanes_of(block), total = {};  // the first key is seen by all
        for (int64_t j = 1; j < seen; ++j) {
            Lanes next = lanes_of(block + j * wide);
            if constexpr (CAUSAL) next = looks_back(first + i, j) ? next : highest;
            highest = next > highest ? next : highest;
        }
        for (int64_t j = 0; j < seen; ++j) {
            Lanes e = exponentials(lanes_of(block + j * wide) - highest);
            if constexpr (CAUSAL) e = looks_back(first + i, j) ? e : Lanes{};
            store(block + j * wide, e);
            total += e;
        }
        const Lanes inverse = 1.0f / total;
        for (int64_t j = 0; j < seen; ++j) store(block + j * wide, lanes_of(block + j * wide) * inverse);
        for (int64_t j = seen; j < m; ++j) store(block + j * wide, Lanes{});
    }
}

// A weight of query i for key j is drawn by the number ((row of i) * heads + head) * (most keys) + j.
template <class T> struct WeightDropout {
    Dropout draw;
    uint32_t start, step;

    WeightDropout(const Attention<T> &a, const Head<T> &at)
        : draw(a.dropout), start(static_cast<uint32_t>((at.first_query * a.heads + at.head) * a.most_keys)),
          step(static_cast<uint32_t>(a.heads * a.most_keys)) {}

    Lanes operator()(int64_t i, int64_t j) const {
        Lanes factors;
        const uint32_t first = start + static_cast<uint32_t>(i) * step + static_cast<uint32_t>(j);
        for (uint32_t l = 0; l < LANES; ++l) factors[l] = draw(first + l * step);
        return factors;
    }
};

// So many queries at a time: their scores for all keys stay in the cache, and close together.
constexpr int64_t QUERIES = 32;

struct Block {
    int64_t first, n, m;  // queries, and how many keys any of them sees
};

template <class T> inline Block block_of(const Attention<T> &a, const Head<T> &at, int64_t first) {
    const int64_t n = at.n - first < QUERIES ? at.n - first : QUERIES;
    return {first, n, a.causal && first + n < at.m ? first + n : at.m};
}

// The turned weights of a block, (m, whole(n)), from its queries q and all keys; q_t is room for the queries turned over.
template <class T>
inline void weigh(const Attention<T> &a, Block of, const float *q, const float *k, float *q_t, float *weights) {
    const int64_t dk = whole(a.key_width), nw = whole(of.n);
    transpose(q, dk, of.n, a.key_width, q_t, nw);
    multiply<false, REPLACE>(k, dk, q_t, nw, weights, nw, of.m, a.key_width, nw);
    if (a.causal)
        softmax_over_keys<true>(weights, of.first, of.n, of.m);
    else
        softmax_over_keys<false>(weights, of.first, of.n, of.m);
}

template <class T> void attention_forward(const Attention<T> &a, T *out, int64_t out_stride, int threads) {
    const int64_t n_most = longest(a.query_offsets, a.sentences), m_most = longest(a.key_offsets, a.sentences);
    const int64_t dk = whole(a.key_width), dv = whole(a.value_width);
    const int64_t room = n_most * (dk + dv) + m_most * (dk + dv + QUERIES) + dk * QUERIES;
    std::vector<float> memory(static_cast<size_t>(threads * room));
    const float scale = 1.0f / std::sqrt(static_cast<float>(a.key_width));
    const int64_t values = a.heads * a.value_width;
#pragma omp parallel num_threads(threads)
    {
        float *mine = memory.data() + omp_get_thread_num() * room;
#pragma omp for schedule(dynamic, a.heads)
        for (int64_t task = 0; task < a.sentences * a.heads; ++task) {
            const Head<T> at(a, task);
            const int64_t n = at.n, m = at.m;
            Scratch scratch{mine};
            float *q = scratch.take(n * dk), *k = scratch.take(m * dk), *v = scratch.take(m * dv);
            float *q_t = scratch.take(dk * QUERIES), *p = scratch.take(m * QUERIES), *o = scratch.take(n * dv);
            unpack_head(a, at, scale, q, k, v);
            if (at.sentence + threads < a.sentences) {
                fetch_inputs(a, at.sentence + threads, at.head);
                fetch<TO_WRITE>(out, out_stride, values, a.query_offsets, at.sentence + threads, at.head, a.heads);
            }
            for (int64_t first = 0; first < n; first += QUERIES) {
                const Block of = block_of(a, at, first);
                const int64_t nw = whole(of.n);
                weigh(a, of, q + first * dk, k, q_t, p);
                if (a.dropout.threshold) {
                    const WeightDropout<T> dropout(a, at);
                    for (int64_t place = 0; place < of.m * nw; place += LANES)
                        store(p + place, lanes_of(p + place) * dropout(first + place % nw, place / nw));
                }
                multiply<true, REPLACE>(p, nw, v, dv, o + first * dv, dv, of.n, of.m, dv);
            }
            T *const into = out + at.first_query * out_stride + at.head * a.value_width;
            pack(o, 1.0f, n, a.value_width, into, out_stride, nullptr);
        }
    }
}

// The weights are computed again. With P the weights and G the gradient of what leaves:
// dV = P' G, dP = G V', dS = P (dP - sum_j P dP), dQ = dS K / sqrt(d), dK = dS' Q / sqrt(d).
template <class T>
void attention_backward(const Attention<T> &a, const T *grad, int64_t grad_stride, T *grad_query, T *grad_key,
                        T *grad_value, float *grad_query_bias, float *grad_key_bias, float *grad_value_bias,
                        int threads) {
    const int64_t n_most = longest(a.query_offsets, a.sentences), m_most = longest(a.key_offsets, a.sentences);
    const int64_t dk = whole(a.key_width), dv = whole(a.value_width);
    const int64_t room = n_most * (2 * dk + dv) + m_most * (2 * dk + 2 * dv + 3 * QUERIES) + (dk + dv) * QUERIES;
    std::vector<float> memory(static_cast<size_t>(threads * room));
    const float scale = 1.0f / std::sqrt(static_cast<float>(a.key_width));
    const int64_t keys = a.heads * a.key_width, values = a.heads * a.value_width, width = 2 * keys + values;
    // Which thread gets which sentence is left to chance, so that sums over sentences are kept a sentence.
    std::vector<float> bias_sums(static_cast<size_t>(a.sentences * width));
#pragma omp parallel num_threads(threads)
    {
        float *mine = memory.data() + omp_get_thread_num() * room;
#pragma omp for schedule(dynamic, a.heads)
        for (int64_t task = 0; task < a.sentences * a.heads; ++task) {
            const Head<T> at(a, task);
            const int64_t n = at.n, m = at.m;
            Scratch scratch{mine};
            float *q = scratch.take(n * dk), *k = scratch.take(m * dk), *v = scratch.take(m * dv);
            float *g = scratch.take(n * dv), *q_t = scratch.take(dk * QUERIES), *g_t = scratch.take(dv * QUERIES);
            float *p = scratch.take(m * QUERIES), *s = scratch.take(m * QUERIES), *kept = scratch.take(m * QUERIES);
            float *into_q = scratch.take(n * dk), *into_k = scratch.take(m * dk), *into_v = scratch.take(m * dv);
            const T *const from = grad + at.first_query * grad_stride + at.head * a.value_width;
            unpack_head(a, at, scale, q, k, v);
            unpack<T>(from, grad_stride, nullptr, 1.0f, n, a.value_width, g);
            if (const int64_t next = at.sentence + threads; next < a.sentences) {
                fetch_inputs(a, next, at.head);
                fetch<TO_READ>(grad, grad_stride, values, a.query_offsets, next, at.head, a.heads);
                fetch<TO_WRITE>(grad_query, a.query_stride, keys, a.query_offsets, next, at.head, a.heads);
                fetch<TO_WRITE>(grad_key, a.key_stride, keys, a.key_offsets, next, at.head, a.heads);
                fetch<TO_WRITE>(grad_value, a.value_stride, values, a.key_offsets, next, at.head, a.heads);
            }
            std::fill(into_k, into_k + m * dk, 0.0f);
            std::fill(into_v, into_v + m * dv, 0.0f);
            for (int64_t first = 0; first < n; first += QUERIES) {
                const Block of = block_of(a, at, first);
                const int64_t nw = whole(of.n), all = of.m * nw;
                const float *dropped = p;
                weigh(a, of, q + first * dk, k, q_t, p);
                transpose(g + first * dv, dv, of.n, a.value_width, g_t, nw);
                multiply<false, REPLACE>(v, dv, g_t, nw, s, nw, of.m, a.value_width, nw);
                if (a.dropout.threshold) {
                    const WeightDropout<T> dropout(a, at);
                    for (int64_t place = 0; place < all; place += LANES) {
                        const Lanes factors = dropout(first + place % nw, place / nw);
                        store(s + place, lanes_of(s + place) * factors);
                        store(kept + place, lanes_of(p + place) * factors);
                    }
                    dropped = kept;
                }
                for (int64_t i = 0; i < nw; i += LANES) {
                    Lanes mean = {};
                    for (int64_t x = i; x < all; x += nw) mean += lanes_of(p + x) * lanes_of(s + x);
                    for (int64_t x = i; x < all; x += nw) store(s + x, lanes_of(p + x) * (lanes_of(s + x) - mean));
                }
                multiply<false, ADD>(dropped, nw, g + first * dv, dv, into_v, dv, of.m, of.n, dv);
                multiply<true, REPLACE>(s, nw, k, dk, into_q + first * dk, dk, of.n, of.m, dk);
                multiply<false, ADD>(s, nw, q + first * dk, dk, into_k, dk, of.m, of.n, dk);
            }
            float *sums = bias_sums.data() + (at.sentence * a.heads + at.head) * (2 * a.key_width + a.value_width);
            const int64_t hk = at.head * a.key_width, hv = at.head * a.value_width;
            pack(into_q, scale, n, a.key_width, grad_query + at.first_query * a.query_stride + hk, a.query_stride, sums);
            pack(into_k, 1.0f, m, a.key_width, grad_key + at.first_key * a.key_stride + hk, a.key_stride,
                 sums + a.key_width);
            pack(into_v, 1.0f, m, a.value_width, grad_value + at.first_key * a.value_stride + hv, a.value_stride,
                 sums + 2 * a.key_width);
        }
    }
    for (int64_t b = 0; b < a.sentences; ++b)
        for (int64_t h = 0; h < a.heads; ++h) {
            const float *sums = bias_sums.data() + b * width + h * (2 * a.key_width + a.value_width);
            for (int64_t c = 0; c < a.key_width; ++c) {
                grad_query_bias[h * a.key_width + c] += sums[c];
                grad_key_bias[h * a.key_width + c] += sums[a.key_width + c];
            }
            for (int64_t c = 0; c < a.value_width; ++c)
                grad_value_bias[h * a.value_width + c] += sums[2 * a.key_width + c];
        }
}

}  // namespace
