// What a training step does between its matrix products, each in one pass over memory.
//
// The plain reference is the model itself: tests/parity/test_packed.py compares loss and gradients, dropout
// included. Storage is float or bfloat16, arithmetic is always float.
// A buffer has one row a token. For a given number of threads every sum is taken in the same order, so that a run
// repeats bit for bit. Memory is asked for before the threads begin, because no exception may leave them.

#include <omp.h>

#include <new>
#include <vector>

#include "attention.h"
#include "dropout.h"
#include "native.h"
#include "training_integers.h"
#include "training_products.h"

namespace {

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
    const int64_t wide = whole(vocabulary);
    std::vector<float> memory(static_cast<size_t>(threads * wide));
#pragma omp parallel num_threads(threads)
    {
        float *e = memory.data() + omp_get_thread_num() * wide;
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
            for (int64_t v = vocabulary; v < wide; ++v) e[v] = highest - 1000.0f;  // whole lanes, but nothing in the sum
            Lanes totals = {};
            for (int64_t v = 0; v < wide; v += LANES) {
                const Lanes next = exponentials(lanes_of(e + v) - highest);
                store(e + v, next);
                totals += next;
            }
            for (int64_t l = 0; l < LANES; ++l) total += totals[l];
            losses[i] = std::log(total) + highest - (1.0f - epsilon) * target -
                        epsilon * (sum / static_cast<float>(vocabulary));
            if (!wanted) continue;
            const float inverse = 1.0f / total;
            const float at_target = e[targets[i]] * inverse - spread - (1.0f - epsilon);
            int64_t v = 0;
            for (; v + LANES <= vocabulary; v += LANES) store(row + v, lanes_of(e + v) * inverse - spread);
            for (; v < vocabulary; ++v) write(row[v], e[v] * inverse - spread);
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
#if defined(HAS_TRAINING_PRODUCTS)
// out (rows, outputs) = a (rows, inputs) times b, which lies (inputs, outputs) if `across`, and else (outputs, inputs); `inputs` is even.
int product_bf16(int64_t rows, int64_t outputs, int64_t inputs, const uint16_t *a, const uint16_t *b, int across, uint16_t *out, int threads) {
    const training::Factor left = {a, inputs, false}, right = {b, across ? outputs : inputs, across != 0};
    GUARDED(training::product(rows, outputs, inputs, left, right, out, false, threads))
}
// out (rows, outputs) = a (inputs, rows), turned over, times b (inputs, outputs), or with `add` that and what `out` held
int product_over_rows_bf16(int64_t rows, int64_t outputs, int64_t inputs, const uint16_t *a, const uint16_t *b, float *out, int add, int threads) {
    const training::Factor left = {a, rows, true}, right = {b, outputs, true};
    GUARDED(training::product(rows, outputs, inputs, left, right, out, add != 0, threads))
}
#endif
#if defined(HAS_INTEGER_PRODUCTS)
// The same two in 8-bit integers, of any number of inputs; with `stochastic` the first factor is rounded by lot.
int integer_product_bf16(int64_t rows, int64_t outputs, int64_t inputs, const uint16_t *a, const uint16_t *b, int across, int stochastic,
                         uint16_t *out, int threads) {
    const training::Factor left = {a, inputs, false}, right = {b, across ? outputs : inputs, across != 0};
    const auto how = stochastic ? training::Rounding::STOCHASTIC : training::Rounding::NEAREST;
    GUARDED(training::integer_product(rows, outputs, inputs, left, right, out, false, how, threads))
}
int integer_product_over_rows_bf16(int64_t rows, int64_t outputs, int64_t inputs, const uint16_t *a, const uint16_t *b, int stochastic,
                                   float *out, int add, int threads) {
    const training::Factor left = {a, rows, true}, right = {b, outputs, true};
    const auto how = stochastic ? training::Rounding::STOCHASTIC : training::Rounding::NEAREST;
    GUARDED(training::integer_product(rows, outputs, inputs, left, right, out, add != 0, how, threads))
}
#endif
}
