// What a training step does between its matrix products, each in one pass over memory.
//
// The plain reference is the model itself: tests/parity/test_packed.py compares loss and gradients, dropout
// included. Storage is float or bfloat16, arithmetic is always float.
// A buffer has one row a token. For a given number of threads every sum is taken in the same order, so that a run
// repeats bit for bit. Memory is asked for before the threads begin, because no exception may leave them.

#include <omp.h>

#include <new>
#include <vector>

#include "native.h"

namespace {

// A decision for element i depends on nothing but i and two keys, so that the backward pass draws it again
// instead of reading a mask. The finaliser is Wellons' lowbias32 (2018), once with each key.
inline uint32_t mixed(uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

struct Dropout {
    uint32_t key0, key1, threshold;  // dropped when the draw is below the threshold
    float scale;

    float operator()(uint32_t i) const {  // no branch: compilers then compute many at once
        const uint32_t kept = 0u - static_cast<uint32_t>(mixed(mixed(i ^ key0) + key1) >= threshold);
        uint32_t bits;
        std::memcpy(&bits, &scale, 4);
        bits &= kept;
        float f;
        std::memcpy(&f, &bits, 4);
        return f;
    }
};

// ---------------------------------------------------------------- small products, all in the cache

template <int ROWS, int VECTORS>
inline void tile(const float *a, int64_t lda, const float *b, int64_t ldb, float *c, int64_t ldc, int64_t k) {
    Lanes sum[ROWS][VECTORS] = {};
    for (int64_t p = 0; p < k; ++p) {
        Lanes column[VECTORS];
        for (int v = 0; v < VECTORS; ++v) column[v] = *reinterpret_cast<const Lanes *>(b + p * ldb + v * LANES);
        for (int r = 0; r < ROWS; ++r) {
            const float x = a[r * lda + p];
            for (int v = 0; v < VECTORS; ++v) sum[r][v] += x * column[v];
        }
    }
    for (int r = 0; r < ROWS; ++r)
        for (int v = 0; v < VECTORS; ++v) *reinterpret_cast<Lanes *>(c + r * ldc + v * LANES) = sum[r][v];
}

// c (n, m) = a (n, k) b (k, m); m is a multiple of LANES.
inline void multiply(const float *a, int64_t lda, const float *b, int64_t ldb, float *c, int64_t ldc, int64_t n,
                     int64_t k, int64_t m) {
    int64_t j = 0;
    for (; j + 2 * LANES <= m; j += 2 * LANES) {
        int64_t i = 0;
        for (; i + 4 <= n; i += 4) tile<4, 2>(a + i * lda, lda, b + j, ldb, c + i * ldc + j, ldc, k);
        for (; i < n; ++i) tile<1, 2>(a + i * lda, lda, b + j, ldb, c + i * ldc + j, ldc, k);
    }
    for (; j < m; j += LANES) {  // eight sums at a time here too: an addition waits for the one before it
        int64_t i = 0;
        for (; i + 8 <= n; i += 8) tile<8, 1>(a + i * lda, lda, b + j, ldb, c + i * ldc + j, ldc, k);
        for (; i + 4 <= n; i += 4) tile<4, 1>(a + i * lda, lda, b + j, ldb, c + i * ldc + j, ldc, k);
        for (; i < n; ++i) tile<1, 1>(a + i * lda, lda, b + j, ldb, c + i * ldc + j, ldc, k);
    }
}

template <class T>  // out (n, whole(width)) = (x + bias) * scale, filled up with zeros
inline void unpack(const T *x, int64_t ldx, const float *bias, float scale, int64_t n, int64_t width, float *out) {
    const int64_t wide = whole(width);
    for (int64_t i = 0; i < n; ++i) {
        float *row = out + i * wide;
        for (int64_t c = 0; c < width; ++c) row[c] = (read(x[i * ldx + c]) + (bias ? bias[c] : 0.0f)) * scale;
        for (int64_t c = width; c < wide; ++c) row[c] = 0.0f;
    }
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

// out (m, ldo) = x (n, ldx) transposed; both have room for whole blocks, and rows of x beyond n count as zeros
inline void transpose(const float *x, int64_t ldx, int64_t n, int64_t m, float *out, int64_t ldo) {
    for (int64_t i = 0; i < n; i += LANES)
        for (int64_t j = 0; j < m; j += LANES) {
            Lanes rows[LANES];
            for (int64_t l = 0; l < LANES; ++l)
                rows[l] = i + l < n ? *reinterpret_cast<const Lanes *>(x + (i + l) * ldx + j) : Lanes{};
            if constexpr (LANES > 8) exchange<8>(rows);
            exchange<4>(rows);
            exchange<2>(rows);
            exchange<1>(rows);
            for (int64_t l = 0; l < LANES && j + l < m; ++l)
                *reinterpret_cast<Lanes *>(out + (j + l) * ldo + i) = rows[l];
        }
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

struct Scratch {
    float *free;
    float *take(int64_t size) {
        float *start = free;
        free += size;
        return start;
    }
};

// probabilities (n, whole(m)): softmax of the scores, zero where a query may not look
inline void softmax_rows(float *scores, int64_t n, int64_t m, bool causal) {
    const int64_t wide = whole(m);
    for (int64_t i = 0; i < n; ++i) {
        float *row = scores + i * wide;
        const int64_t seen = causal && i + 1 < m ? i + 1 : m;
        const float highest = highest_of(row, seen);
        for (int64_t j = seen; j < wide; ++j) row[j] = highest - 90.0f;  // whole lanes, but nothing in the sum
        float total = 0.0f;
        for (int64_t j = 0; j < wide; ++j) {
            row[j] = exponential(row[j] - highest);
            total += row[j];
        }
        const float inverse = 1.0f / total;
        for (int64_t j = 0; j < wide; ++j) row[j] *= inverse;
        for (int64_t j = seen; j < wide; ++j) row[j] = 0.0f;
    }
}

template <class T>
inline void drop(const Attention<T> &a, int64_t first_query, int64_t h, float *x, int64_t n, int64_t m) {
    for (int64_t i = 0; i < n; ++i) {
        const uint32_t start = static_cast<uint32_t>(((first_query + i) * a.heads + h) * a.most_keys);
        float *row = x + i * whole(m);
        for (int64_t j = 0; j < whole(m); ++j) row[j] *= a.dropout(start + static_cast<uint32_t>(j));
    }
}

inline int64_t longest(const int32_t *offsets, int64_t sentences) {
    int64_t most = 0;
    for (int64_t b = 0; b < sentences; ++b) most = offsets[b + 1] - offsets[b] > most ? offsets[b + 1] - offsets[b] : most;
    return most;
}

template <class T> void attention_forward(const Attention<T> &a, T *out, int64_t out_stride, int threads) {
    const int64_t n_most = longest(a.query_offsets, a.sentences), m_most = longest(a.key_offsets, a.sentences);
    const int64_t dk = whole(a.key_width), dv = whole(a.value_width), wide = whole(m_most);
    const int64_t room = n_most * (dk + wide + dv) + m_most * (dk + dv) + dk * wide;
    std::vector<float> memory(static_cast<size_t>(threads * room));
    const float scale = 1.0f / std::sqrt(static_cast<float>(a.key_width));
#pragma omp parallel num_threads(threads)
    {
        float *mine = memory.data() + omp_get_thread_num() * room;
#pragma omp for schedule(dynamic, 4)
        for (int64_t task = 0; task < a.sentences * a.heads; ++task) {
            const int64_t b = task / a.heads, h = task % a.heads;
            const int64_t q0 = a.query_offsets[b], n = a.query_offsets[b + 1] - q0;
            const int64_t k0 = a.key_offsets[b], m = a.key_offsets[b + 1] - k0, mw = whole(m);
            Scratch scratch{mine};
            float *q = scratch.take(n * dk), *k = scratch.take(m * dk), *kt = scratch.take(dk * mw);
            float *v = scratch.take(m * dv), *p = scratch.take(n * mw), *o = scratch.take(n * dv);
            const int64_t hk = h * a.key_width, hv = h * a.value_width;
            unpack(a.query + q0 * a.query_stride + hk, a.query_stride, a.query_bias + hk, scale, n, a.key_width, q);
            unpack(a.key + k0 * a.key_stride + hk, a.key_stride, a.key_bias + hk, 1.0f, m, a.key_width, k);
            unpack(a.value + k0 * a.value_stride + hv, a.value_stride, a.value_bias + hv, 1.0f, m, a.value_width, v);
            transpose(k, dk, m, a.key_width, kt, mw);
            multiply(q, dk, kt, mw, p, mw, n, a.key_width, mw);
            softmax_rows(p, n, m, a.causal);
            if (a.dropout.threshold) drop(a, q0, h, p, n, m);
            multiply(p, mw, v, dv, o, dv, n, m, dv);
            for (int64_t i = 0; i < n; ++i)
                for (int64_t c = 0; c < a.value_width; ++c) write(out[(q0 + i) * out_stride + hv + c], o[i * dv + c]);
        }
    }
}

template <class T>
void store(const float *x, int64_t ldx, int64_t n, int64_t width, T *out, int64_t stride, float *bias_sum) {
    for (int64_t i = 0; i < n; ++i)
        for (int64_t c = 0; c < width; ++c) {
            write(out[i * stride + c], x[i * ldx + c]);
            bias_sum[c] += x[i * ldx + c];
        }
}

// The weights are computed again. With P the weights and G the gradient of what leaves:
// dV = P' G, dP = G V', dS = P (dP - sum_j P dP), dQ = dS K / sqrt(d), dK = dS' Q / sqrt(d).
template <class T>
void attention_backward(const Attention<T> &a, const T *grad, int64_t grad_stride, T *grad_query, T *grad_key,
                        T *grad_value, float *grad_query_bias, float *grad_key_bias, float *grad_value_bias,
                        int threads) {
    const int64_t n_most = longest(a.query_offsets, a.sentences), m_most = longest(a.key_offsets, a.sentences);
    const int64_t dk = whole(a.key_width), dv = whole(a.value_width), wide = whole(m_most), high = whole(n_most);
    const int64_t room =
        n_most * (2 * dk + dv + 2 * wide) + m_most * (2 * dk + 2 * dv + high) + (dk + dv) * wide;
    std::vector<float> memory(static_cast<size_t>(threads * room));
    const float scale = 1.0f / std::sqrt(static_cast<float>(a.key_width));
    const int64_t width = a.heads * (2 * a.key_width + a.value_width);
    // Which thread gets which sentence is left to chance, so that sums over sentences are kept a sentence.
    std::vector<float> bias_sums(static_cast<size_t>(a.sentences * width), 0.0f);
#pragma omp parallel num_threads(threads)
    {
        float *mine = memory.data() + omp_get_thread_num() * room;
#pragma omp for schedule(dynamic, 4)
        for (int64_t task = 0; task < a.sentences * a.heads; ++task) {
            const int64_t b = task / a.heads, h = task % a.heads;
            const int64_t q0 = a.query_offsets[b], n = a.query_offsets[b + 1] - q0;
            const int64_t k0 = a.key_offsets[b], m = a.key_offsets[b + 1] - k0, mw = whole(m), nw = whole(n);
            Scratch scratch{mine};
            float *q = scratch.take(n * dk), *k = scratch.take(m * dk), *kt = scratch.take(dk * mw);
            float *v = scratch.take(m * dv), *vt = scratch.take(dv * mw), *g = scratch.take(n * dv);
            float *p = scratch.take(n * mw), *s = scratch.take(n * mw), *turned = scratch.take(m * nw);
            float *into_q = scratch.take(n * dk), *into_k = scratch.take(m * dk), *into_v = scratch.take(m * dv);
            const int64_t hk = h * a.key_width, hv = h * a.value_width;
            unpack(a.query + q0 * a.query_stride + hk, a.query_stride, a.query_bias + hk, scale, n, a.key_width, q);
            unpack(a.key + k0 * a.key_stride + hk, a.key_stride, a.key_bias + hk, 1.0f, m, a.key_width, k);
            unpack(a.value + k0 * a.value_stride + hv, a.value_stride, a.value_bias + hv, 1.0f, m, a.value_width, v);
            unpack(grad + q0 * grad_stride + hv, grad_stride, nullptr, 1.0f, n, a.value_width, g);
            transpose(k, dk, m, a.key_width, kt, mw);
            transpose(v, dv, m, a.value_width, vt, mw);
            multiply(q, dk, kt, mw, p, mw, n, a.key_width, mw);
            softmax_rows(p, n, m, a.causal);
            multiply(g, dv, vt, mw, s, mw, n, a.value_width, mw);
            if (a.dropout.threshold) drop(a, q0, h, s, n, m);
            for (int64_t i = 0; i < n; ++i) {
                const float *weight = p + i * mw;
                float *row = s + i * mw, mean = 0.0f;
                for (int64_t j = 0; j < mw; ++j) mean += weight[j] * row[j];  // beyond m all are zero
                for (int64_t j = 0; j < mw; ++j) row[j] = weight[j] * (row[j] - mean);
            }
            if (a.dropout.threshold) drop(a, q0, h, p, n, m);
            transpose(p, mw, n, m, turned, nw);
            multiply(turned, nw, g, dv, into_v, dv, m, n, dv);
            multiply(s, mw, k, dk, into_q, dk, n, m, dk);
            for (int64_t i = 0; i < n * dk; ++i) into_q[i] *= scale;
            transpose(s, mw, n, m, turned, nw);
            multiply(turned, nw, q, dk, into_k, dk, m, n, dk);
            float *sums = bias_sums.data() + b * width + h * (2 * a.key_width + a.value_width);
            store(into_q, dk, n, a.key_width, grad_query + q0 * a.query_stride + hk, a.query_stride, sums);
            store(into_k, dk, m, a.key_width, grad_key + k0 * a.key_stride + hk, a.key_stride, sums + a.key_width);
            store(into_v, dv, m, a.value_width, grad_value + k0 * a.value_stride + hv, a.value_stride,
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

// ---------------------------------------------------------------- sums over rows

// Each thread sums a block of rows into accumulators of its own, which are then added in the order of threads.
template <class Body> void over_rows(int64_t rows, int64_t sums, float *const *outs, int64_t width, int threads, Body body) {
    std::vector<float> partial(static_cast<size_t>(threads * sums * width), 0.0f);
    std::vector<float> scratch(static_cast<size_t>(threads * width));
#pragma omp parallel num_threads(threads)
    {
        const int64_t thread = omp_get_thread_num();
        float *mine = partial.data() + thread * sums * width, *row = scratch.data() + thread * width;
#pragma omp for schedule(static)
        for (int64_t i = 0; i < rows; ++i) body(i, mine, row);
    }
    for (int64_t s = 0; s < sums; ++s)
        if (outs[s])
            for (int t = 0; t < threads; ++t)
                for (int64_t c = 0; c < width; ++c) outs[s][c] += partial[(t * sums + s) * width + c];
}

// ---------------------------------------------------------------- residual, dropout, normalisation

// Normalise one row, which lies in sum; returns what it was multiplied by.
template <class T>
inline float normalise(int64_t width, const float *sum, const float *gain, const float *shift, float epsilon, T *out,
                       T *normal) {
    float mean = 0.0f, variance = 0.0f;
    for (int64_t c = 0; c < width; ++c) mean += sum[c];
    mean /= static_cast<float>(width);
    for (int64_t c = 0; c < width; ++c) variance += (sum[c] - mean) * (sum[c] - mean);
    const float by = 1.0f / std::sqrt(variance / static_cast<float>(width) + epsilon);
    for (int64_t c = 0; c < width; ++c) {
        const float z = (sum[c] - mean) * by;
        write(normal[c], z);
        write(out[c], z * gain[c] + shift[c]);
    }
    return by;
}

// x + dropout(y + bias), one row
template <class T, class R, class S>
inline void add_row(int64_t i, int64_t width, const R *x, const T *y, const float *bias, Dropout dropout, S *sum) {
    const R *xi = x + i * width;
    const T *yi = y + i * width;
    const uint32_t start = static_cast<uint32_t>(i * width);
    if (dropout.threshold)
        for (int64_t c = 0; c < width; ++c)
            sum[c] = read(xi[c]) + (read(yi[c]) + bias[c]) * dropout(start + static_cast<uint32_t>(c));
    else
        for (int64_t c = 0; c < width; ++c) sum[c] = read(xi[c]) + (read(yi[c]) + bias[c]);
}

template <class T>
void add_norm_forward(int64_t rows, int64_t width, const T *x, const T *y, const float *bias, Dropout dropout,
                      const float *gain, const float *shift, float epsilon, T *out, T *normal, float *inverse,
                      int threads) {
    over_rows(rows, 0, nullptr, width, threads, [=](int64_t i, float *, float *sum) {
        add_row(i, width, x, y, bias, dropout, sum);
        inverse[i] = normalise(width, sum, gain, shift, epsilon, out + i * width, normal + i * width);
    });
}

template <class T>
void norm_forward(int64_t rows, int64_t width, const float *x, const float *gain, const float *shift, float epsilon,
                  T *out, T *normal, float *inverse, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < rows; ++i)
        inverse[i] = normalise(width, x + i * width, gain, shift, epsilon, out + i * width, normal + i * width);
}

template <class T>
void add_forward(int64_t rows, int64_t width, const float *x, const T *y, const float *bias, Dropout dropout,
                 float *out, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < rows; ++i) add_row(i, width, x, y, bias, dropout, out + i * width);
}

template <class T>
void add_backward(int64_t rows, int64_t width, const float *grad, Dropout dropout, T *grad_y, float *grad_bias,
                  int threads) {
    float *const outs[1] = {grad_bias};
    over_rows(rows, 1, outs, width, threads, [=](int64_t i, float *sums, float *) {
        const float *gi = grad + i * width;
        T *yi = grad_y + i * width;
        const uint32_t start = static_cast<uint32_t>(i * width);
        for (int64_t c = 0; c < width; ++c) {
            const float g = dropout.threshold ? gi[c] * dropout(start + static_cast<uint32_t>(c)) : gi[c];
            write(yi[c], g);
            sums[c] += g;
        }
    });
}

// Also gives the gradient of the bias that was added to y. grad_y may be null where nothing is dropped: it is grad_x.
template <class T, class R>
void add_norm_backward(int64_t rows, int64_t width, const T *grad, const T *normal, const float *inverse,
                       Dropout dropout, const float *gain, R *grad_x, T *grad_y, float *grad_gain, float *grad_shift,
                       float *grad_bias, int threads) {
    float *const outs[3] = {grad_gain, grad_shift, grad_bias};
    over_rows(rows, 3, outs, width, threads, [=](int64_t i, float *sums, float *scaled) {
        const T *gi = grad + i * width, *ni = normal + i * width;
        float mean = 0.0f, along = 0.0f;
        for (int64_t c = 0; c < width; ++c) {
            const float g = read(gi[c]), z = read(ni[c]);
            sums[c] += g * z;
            sums[width + c] += g;
            scaled[c] = g * gain[c];
            mean += scaled[c];
            along += scaled[c] * z;
        }
        mean /= static_cast<float>(width);
        along /= static_cast<float>(width);
        const float by = inverse[i];
        R *xi = grad_x + i * width;
        for (int64_t c = 0; c < width; ++c) {
            scaled[c] = by * (scaled[c] - mean - read(ni[c]) * along);
            write(xi[c], scaled[c]);
        }
        if (grad_y) {
            T *yi = grad_y + i * width;
            const uint32_t start = static_cast<uint32_t>(i * width);
            for (int64_t c = 0; c < width; ++c) {
                const float g = scaled[c] * dropout(start + static_cast<uint32_t>(c));
                write(yi[c], g);
                sums[2 * width + c] += g;
            }
        } else
            for (int64_t c = 0; c < width; ++c) sums[2 * width + c] += scaled[c];
    });
}

// ---------------------------------------------------------------- the middle of the feed-forward network

template <class T>
void relu_forward(int64_t rows, int64_t width, T *hidden, const float *bias, Dropout dropout, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < rows; ++i) {
        T *row = hidden + i * width;
        const uint32_t start = static_cast<uint32_t>(i * width);
        if (dropout.threshold)
            for (int64_t c = 0; c < width; ++c) {
                const float x = read(row[c]) + bias[c];
                const float kept = x * dropout(start + static_cast<uint32_t>(c));
                write(row[c], x < 0.0f ? 0.0f : kept);
            }
        else
            for (int64_t c = 0; c < width; ++c) {
                const float x = read(row[c]) + bias[c];
                write(row[c], x < 0.0f ? 0.0f : x);
            }
    }
}

// What was dropped is zero in hidden, as what was negative is: neither lets a gradient through.
template <class T>
void relu_backward(int64_t rows, int64_t width, const T *hidden, T *grad, float scale, float *grad_bias, int threads) {
    float *const outs[1] = {grad_bias};
    over_rows(rows, 1, outs, width, threads, [=](int64_t i, float *sums, float *) {
        const T *hi = hidden + i * width;
        T *gi = grad + i * width;
        for (int64_t c = 0; c < width; ++c) {
            const float all = read(gi[c]) * scale, g = read(hi[c]) > 0.0f ? all : 0.0f;
            write(gi[c], g);
            sums[c] += g;
        }
    });
}

// ---------------------------------------------------------------- embeddings

template <class T>  // an id below zero is padding and gives a row of zeros
void embed_forward(int64_t rows, int64_t width, const int64_t *ids, const int32_t *places, const float *table,
                   const float *positions, float scale, Dropout dropout, T *out, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < rows; ++i) {
        T *row = out + i * width;
        if (ids[i] < 0) {
            for (int64_t c = 0; c < width; ++c) write(row[c], 0.0f);
            continue;
        }
        const float *word = table + ids[i] * width, *place = positions + places[i] * width;
        const uint32_t start = static_cast<uint32_t>(i * width);
        if (dropout.threshold)
            for (int64_t c = 0; c < width; ++c)
                write(row[c], (word[c] * scale + place[c]) * dropout(start + static_cast<uint32_t>(c)));
        else
            for (int64_t c = 0; c < width; ++c) write(row[c], word[c] * scale + place[c]);
    }
}

template <class T>  // each thread owns some columns of the table, so that no two add to one number
void embed_backward(int64_t rows, int64_t width, const int64_t *ids, const T *grad, float scale, Dropout dropout,
                    float *grad_table, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t part = 0; part < threads; ++part) {
        const int64_t first = width * part / threads, last = width * (part + 1) / threads;
        for (int64_t i = 0; i < rows; ++i) {
            if (ids[i] < 0) continue;
            const T *row = grad + i * width;
            float *word = grad_table + ids[i] * width;
            const uint32_t start = static_cast<uint32_t>(i * width);
            if (dropout.threshold)
                for (int64_t c = first; c < last; ++c)
                    word[c] += read(row[c]) * scale * dropout(start + static_cast<uint32_t>(c));
            else
                for (int64_t c = first; c < last; ++c) word[c] += read(row[c]) * scale;
        }
    }
}

// ---------------------------------------------------------------- label-smoothed cross-entropy

// Writes the logarithms of the softmax and returns the loss.
template <class T>
inline float log_softmax(const T *logits, int64_t vocabulary, float *out, int64_t target, float epsilon) {
    float sum = 0.0f, total = 0.0f;
    for (int64_t v = 0; v < vocabulary; ++v) {
        out[v] = read(logits[v]);
        sum += out[v];
    }
    const float highest = highest_of(out, vocabulary);
    for (int64_t v = 0; v < vocabulary; ++v) total += exponential(out[v] - highest);
    const float all = std::log(total) + highest;
    for (int64_t v = 0; v < vocabulary; ++v) out[v] -= all;
    return -(1.0f - epsilon) * out[target] - epsilon * (sum / static_cast<float>(vocabulary) - all);
}

// Turns logits into the gradient of the loss, softmax - epsilon / V - (1 - epsilon) [v = target], in place if wanted.
template <class T>
void cross_entropy(int64_t rows, int64_t vocabulary, T *logits, const int64_t *targets, float epsilon, int wanted,
                   float *losses, int threads) {
    const float spread = epsilon / static_cast<float>(vocabulary);
    std::vector<float> memory(static_cast<size_t>(threads * vocabulary));
#pragma omp parallel num_threads(threads)
    {
        float *e = memory.data() + omp_get_thread_num() * vocabulary;
#pragma omp for schedule(static)
        for (int64_t i = 0; i < rows; ++i) {
            T *row = logits + i * vocabulary;
            losses[i] = 0.0f;
            if (targets[i] < 0) {  // no token
                for (int64_t v = 0; wanted && v < vocabulary; ++v) write(row[v], 0.0f);
                continue;
            }
            float sum = 0.0f, total = 0.0f;
            for (int64_t v = 0; v < vocabulary; ++v) {
                e[v] = read(row[v]);
                sum += e[v];
            }
            const float highest = highest_of(e, vocabulary), target = e[targets[i]];
            for (int64_t v = 0; v < vocabulary; ++v) {
                e[v] = exponential(e[v] - highest);
                total += e[v];
            }
            losses[i] = std::log(total) + highest - (1.0f - epsilon) * target -
                        epsilon * (sum / static_cast<float>(vocabulary));
            if (!wanted) continue;
            const float inverse = 1.0f / total;
            const float at_target = e[targets[i]] * inverse - spread - (1.0f - epsilon);
            for (int64_t v = 0; v < vocabulary; ++v) write(row[v], e[v] * inverse - spread);
            write(row[targets[i]], at_target);
        }
    }
}

// The same for a token that passed twice, as the gradient of
//   (CE(p) + CE(q)) / 2 + alpha / 4 (KL(p | q) + KL(q | p))
// in the place of both rows of logits. With d = log p - log q that of the divergences for the logits of p is
// p (d - KL(p | q)) + p - q, and the same with p and q exchanged.
template <class T>
void r_drop(int64_t rows, int64_t vocabulary, T *first, T *second, const int64_t *targets, float epsilon, float alpha,
            int wanted, float *losses, int threads) {
    const float spread = epsilon / static_cast<float>(vocabulary), weight = alpha / 4.0f;
    std::vector<float> memory(static_cast<size_t>(threads * 4 * vocabulary));
#pragma omp parallel num_threads(threads)
    {
        float *log_p = memory.data() + omp_get_thread_num() * 4 * vocabulary, *log_q = log_p + vocabulary;
        float *p = log_q + vocabulary, *q = p + vocabulary;
#pragma omp for schedule(static)
        for (int64_t i = 0; i < rows; ++i) {
            T *of_p = first + i * vocabulary, *of_q = second + i * vocabulary;
            losses[i] = 0.0f;
            if (targets[i] < 0) {  // no token
                for (int64_t v = 0; wanted && v < vocabulary; ++v) {
                    write(of_p[v], 0.0f);
                    write(of_q[v], 0.0f);
                }
                continue;
            }
            const float loss_p = log_softmax(of_p, vocabulary, log_p, targets[i], epsilon);
            const float loss_q = log_softmax(of_q, vocabulary, log_q, targets[i], epsilon);
            float from_p = 0.0f, from_q = 0.0f;
            for (int64_t v = 0; v < vocabulary; ++v) {
                p[v] = exponential(log_p[v]);
                q[v] = exponential(log_q[v]);
                from_p += p[v] * (log_p[v] - log_q[v]);
                from_q += q[v] * (log_q[v] - log_p[v]);
            }
            losses[i] = 0.5f * (loss_p + loss_q) + weight * (from_p + from_q);
            if (!wanted) continue;
            for (int64_t v = 0; v < vocabulary; ++v) {
                const float d = log_p[v] - log_q[v], apart = p[v] - q[v];
                p[v] = 0.5f * (p[v] - spread) + weight * (p[v] * (d - from_p) + apart);
                q[v] = 0.5f * (q[v] - spread) + weight * (q[v] * (-d - from_q) - apart);
            }
            p[targets[i]] -= 0.5f * (1.0f - epsilon);
            q[targets[i]] -= 0.5f * (1.0f - epsilon);
            for (int64_t v = 0; v < vocabulary; ++v) {
                write(of_p[v], p[v]);
                write(of_q[v], q[v]);
            }
        }
    }
}

}  // namespace

#define DROPOUT uint32_t key0, uint32_t key1, uint32_t threshold, float scale
#define DROP Dropout{key0, key1, threshold, scale}
#define ATTENTION(T)                                                                                                   \
    int64_t sentences, int64_t heads, int64_t key_width, int64_t value_width, int64_t most_keys,                       \
        const int32_t *query_offsets, const int32_t *key_offsets, const T *query, const T *key, const T *value,        \
        int64_t query_stride, int64_t key_stride, int64_t value_stride, const float *query_bias,                       \
        const float *key_bias, const float *value_bias, int causal, DROPOUT
#define ATTEND(T)                                                                                                      \
    Attention<T> {                                                                                                     \
        sentences, heads, key_width, value_width, most_keys, query_offsets, key_offsets, query, key, value,            \
            query_stride, key_stride, value_stride, query_bias, key_bias, value_bias, causal != 0, DROP                \
    }

// Nothing may be thrown into the caller, which is no C++: 1 says that there was not enough memory.
#define GUARDED(CALL)                                                                                                  \
    try {                                                                                                              \
        CALL;                                                                                                          \
        return 0;                                                                                                      \
    } catch (const std::bad_alloc &) {                                                                                 \
        return 1;                                                                                                      \
    }

#define EXPORT(T, NAME)                                                                                                \
    int attention_forward_##NAME(ATTENTION(T), T *out, int64_t out_stride, int threads) {                              \
        GUARDED(attention_forward(ATTEND(T), out, out_stride, threads))                                                \
    }                                                                                                                  \
    int attention_backward_##NAME(ATTENTION(T), const T *grad, int64_t grad_stride, T *grad_query, T *grad_key,        \
                                   T *grad_value, float *grad_query_bias, float *grad_key_bias,                        \
                                   float *grad_value_bias, int threads) {                                              \
        GUARDED(attention_backward(ATTEND(T), grad, grad_stride, grad_query, grad_key, grad_value, grad_query_bias,    \
                           grad_key_bias, grad_value_bias, threads))                                                   \
    }                                                                                                                  \
    int add_norm_forward_##NAME(int64_t rows, int64_t width, const T *x, const T *y, const float *bias, DROPOUT,       \
                                 const float *gain, const float *shift, float epsilon, T *out, T *normal,              \
                                 float *inverse, int threads) {                                                        \
        GUARDED(add_norm_forward(rows, width, x, y, bias, DROP, gain, shift, epsilon, out, normal, inverse, threads))  \
    }                                                                                                                  \
    int add_norm_backward_##NAME(int64_t rows, int64_t width, const T *grad, const T *normal, const float *inverse,    \
                                  DROPOUT, const float *gain, T *grad_x, T *grad_y, float *grad_gain,                  \
                                  float *grad_shift, float *grad_bias, int threads) {                                  \
        GUARDED(add_norm_backward(rows, width, grad, normal, inverse, DROP, gain, grad_x, grad_y, grad_gain, grad_shift, \
                          grad_bias, threads))                                                                         \
    }                                                                                                                  \
    int norm_forward_##NAME(int64_t rows, int64_t width, const float *x, const float *gain, const float *shift,        \
                            float epsilon, T *out, T *normal, float *inverse, int threads) {                           \
        GUARDED(norm_forward(rows, width, x, gain, shift, epsilon, out, normal, inverse, threads))                     \
    }                                                                                                                  \
    int norm_backward_##NAME(int64_t rows, int64_t width, const T *grad, const T *normal, const float *inverse,        \
                             const float *gain, float *grad_x, float *grad_gain, float *grad_shift, int threads) {     \
        T *const none = nullptr;                                                                                       \
        GUARDED(add_norm_backward(rows, width, grad, normal, inverse, Dropout{0, 0, 0, 1.0f}, gain, grad_x, none,      \
                                  grad_gain, grad_shift, nullptr, threads))                                            \
    }                                                                                                                  \
    int add_forward_##NAME(int64_t rows, int64_t width, const float *x, const T *y, const float *bias, DROPOUT,        \
                           float *out, int threads) {                                                                  \
        GUARDED(add_forward(rows, width, x, y, bias, DROP, out, threads))                                              \
    }                                                                                                                  \
    int add_backward_##NAME(int64_t rows, int64_t width, const float *grad, DROPOUT, T *grad_y, float *grad_bias,      \
                            int threads) {                                                                             \
        GUARDED(add_backward(rows, width, grad, DROP, grad_y, grad_bias, threads))                                     \
    }                                                                                                                  \
    int relu_forward_##NAME(int64_t rows, int64_t width, T *hidden, const float *bias, DROPOUT, int threads) {         \
        GUARDED(relu_forward(rows, width, hidden, bias, DROP, threads))                                                \
    }                                                                                                                  \
    int relu_backward_##NAME(int64_t rows, int64_t width, const T *hidden, T *grad, float scale, float *grad_bias,     \
                              int threads) {                                                                           \
        GUARDED(relu_backward(rows, width, hidden, grad, scale, grad_bias, threads))                                   \
    }                                                                                                                  \
    int embed_forward_##NAME(int64_t rows, int64_t width, const int64_t *ids, const int32_t *places,                   \
                              const float *table, const float *positions, float by, DROPOUT, T *out, int threads) {    \
        GUARDED(embed_forward(rows, width, ids, places, table, positions, by, DROP, out, threads))                     \
    }                                                                                                                  \
    int embed_backward_##NAME(int64_t rows, int64_t width, const int64_t *ids, const T *grad, float by, DROPOUT,       \
                               float *grad_table, int threads) {                                                       \
        GUARDED(embed_backward(rows, width, ids, grad, by, DROP, grad_table, threads))                                 \
    }                                                                                                                  \
    int cross_entropy_##NAME(int64_t rows, int64_t vocabulary, T *logits, const int64_t *targets, float epsilon,       \
                              int wanted, float *losses, int threads) {                                                \
        GUARDED(cross_entropy(rows, vocabulary, logits, targets, epsilon, wanted, losses, threads))                    \
    }                                                                                                                  \
    int r_drop_##NAME(int64_t rows, int64_t vocabulary, T *first, T *second, const int64_t *targets, float epsilon,    \
                       float alpha, int wanted, float *losses, int threads) {                                          \
        GUARDED(r_drop(rows, vocabulary, first, second, targets, epsilon, alpha, wanted, losses, threads))             \
    }

extern "C" {
EXPORT(float, f32)
EXPORT(bf16, bf16)
}
