// A whole plain beam search in one call, on one thread: encoder, decoder steps, and the choice of what to write.
//
// The plain reference is decoding/beam_search.py over model/transformer.py; tests/parity/test_compiled_search.py
// compares. Only what is alive is computed: no padding, no slot that has ended or is empty, and the logits never
// exist as a whole. Keys and values of earlier steps are never moved: each row remembers where those of its ancestors
// are, and what is no row's ancestor any more makes room for what comes. Whoever has several cores calls from several
// threads, a batch each: nothing here looks across sentences, and no result depends on how they are shared out.

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "native.h"
#include "products.h"

namespace {

constexpr float NONE = -std::numeric_limits<float>::infinity();

struct Norm {
    const float *weight, *bias;
};

struct FeedForward {
    Weight inner, gate, outer;
    Norm norm;
};

struct EncoderLayer {
    Weight query, key_value, output;
    Norm norm;
    FeedForward feed_forward;
};

struct DecoderLayer {
    Weight query, key_value, output;
    Norm norm;
    Weight source_query, source_key_value, source_output;
    Norm source_norm;
    FeedForward feed_forward;
};

enum Activation : int64_t { RELU = 0, GELU = 1, SWIGLU = 2, SWISH = 3 };

// What kernels/search.py writes down, in this order.
struct Sizes {
    int64_t d_model, heads, query_width, value_width, d_ff, encoder_layers, decoder_layers, activation, pre_norm,
        source_vocabulary, target_vocabulary;
};

struct Model {
    Sizes sizes;
    std::vector<EncoderLayer> encoder;
    std::vector<DecoderLayer> decoder;
    Norm encoder_norm, decoder_norm;  // of pre-normalisation
    Weight output;
    const float *source_table, *target_table, *source_positions, *target_positions;
    float scale, epsilon;
};

// Takes the addresses one after the other, as kernels/search.py wrote them.
struct Addresses {
    const void *const *next;
    const float *floats() { return static_cast<const float *>(*next++); }
    Norm norm() {
        Norm n;
        n.weight = floats();
        n.bias = floats();
        return n;
    }
    Weight weight(int64_t outputs, int64_t inputs) {
        Weight w;
        w.panels = *next++;
        w.scale = floats();
        w.shift = static_cast<const int32_t *>(*next++);
        w.bias = floats();
        w.outputs = outputs;
        w.inputs = inputs;
        return w;
    }
    FeedForward feed_forward(const Sizes &s) {
        FeedForward f;
        f.inner = weight(s.d_ff, s.d_model);
        f.gate = s.activation == SWIGLU ? weight(s.d_ff, s.d_model) : Weight{};
        f.outer = weight(s.d_model, s.d_ff);
        f.norm = norm();
        return f;
    }
};

Model read_model(const int64_t *sizes, const void *const *addresses, float epsilon) {
    Model m;
    std::memcpy(&m.sizes, sizes, sizeof(Sizes));
    const Sizes &s = m.sizes;
    const int64_t d = s.d_model, q = s.heads * s.query_width, v = s.heads * s.value_width;
    Addresses from{addresses};
    for (int64_t i = 0; i < s.encoder_layers; ++i) {
        EncoderLayer layer;
        layer.query = from.weight(q, d);
        layer.key_value = from.weight(q + v, d);
        layer.output = from.weight(d, v);
        layer.norm = from.norm();
        layer.feed_forward = from.feed_forward(s);
        m.encoder.push_back(layer);
    }
    for (int64_t i = 0; i < s.decoder_layers; ++i) {
        DecoderLayer layer;
        layer.query = from.weight(q, d);
        layer.key_value = from.weight(q + v, d);
        layer.output = from.weight(d, v);
        layer.norm = from.norm();
        layer.source_query = from.weight(q, d);
        layer.source_key_value = from.weight(q + v, d);
        layer.source_output = from.weight(d, v);
        layer.source_norm = from.norm();
        layer.feed_forward = from.feed_forward(s);
        m.decoder.push_back(layer);
    }
    if (s.pre_norm) {
        m.encoder_norm = from.norm();
        m.decoder_norm = from.norm();
    }
    m.output = from.weight(s.target_vocabulary, d);
    m.source_table = from.floats();
    m.target_table = from.floats();
    m.source_positions = from.floats();
    m.target_positions = from.floats();
    m.scale = std::sqrt(static_cast<float>(d));
    m.epsilon = epsilon;
    return m;
}

// ---------------------------------------------------------------- sublayers

void normalise(const float *x, const Norm &norm, int64_t rows, int64_t d, float epsilon, float *out) {
    for (int64_t r = 0; r < rows; ++r, x += d, out += d) {
        float mean = 0.0f, square = 0.0f;
        for (int64_t i = 0; i < d; ++i) mean += x[i];
        mean /= static_cast<float>(d);
        for (int64_t i = 0; i < d; ++i) square += (x[i] - mean) * (x[i] - mean);
        const float inverse = 1.0f / std::sqrt(square / static_cast<float>(d) + epsilon);
        for (int64_t i = 0; i < d; ++i) out[i] = (x[i] - mean) * inverse * norm.weight[i] + norm.bias[i];
    }
}

typedef int32_t Picks __attribute__((vector_size(4 * LANES)));

template <int STEP> inline Lanes swapped(Lanes x) {  // each lane with the one STEP away
    Picks partner;
    for (int l = 0; l < LANES; ++l) partner[l] = l ^ STEP;
    return __builtin_shuffle(x, partner);
}

template <int STEP> inline Lanes with_partners(Lanes x) { return x + swapped<STEP>(x); }

// The total of all lanes, in each of them.
inline Lanes everywhere(Lanes x) {
    if constexpr (LANES > 8) x = with_partners<8>(x);
    return with_partners<1>(with_partners<2>(with_partners<4>(x)));
}

inline float total_of(Lanes x) { return everywhere(x)[0]; }

template <class T> inline float inner_product(const float *a, const T *b, int64_t n) {
    Lanes sum = {};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) sum += lanes_of(a + i) * lanes_of(b + i);
    float rest = 0.0f;
    for (; i < n; ++i) rest += a[i] * read(b[i]);
    return total_of(sum) + rest;
}

template <int STEP> inline Lanes greater_of_partners(Lanes x) {
    const Lanes other = swapped<STEP>(x);
    return other > x ? other : x;
}

// x (whole(n)): what lies beyond n counts as nothing, and is overwritten. Never through single numbers, which the
// processor would have to collect before it can load them together.
inline void softmax(float *x, int64_t n) {
    const int64_t parts = whole(n) / LANES;
    Lanes *const lanes = reinterpret_cast<Lanes *>(x);
    Picks number;
    for (int l = 0; l < LANES; ++l) number[l] = l;
    const Picks real = number < static_cast<int32_t>(n - (parts - 1) * LANES) + Picks{};  // in the last part
    const Lanes lowest = NONE + Lanes{};
    Lanes most = lowest;
    for (int64_t i = 0; i < parts; ++i) {
        const Lanes next = i + 1 < parts ? lanes[i] : (real ? lanes[i] : lowest);
        most = next > most ? next : most;
    }
    if constexpr (LANES > 8) most = greater_of_partners<8>(most);
    most = greater_of_partners<1>(greater_of_partners<2>(greater_of_partners<4>(most)));
    Lanes total = {};
    for (int64_t i = 0; i < parts; ++i) {
        Lanes each = exponentials(lanes[i] - most);
        if (i + 1 == parts) each = real ? each : Lanes{};
        lanes[i] = each;
        total += each;
    }
    const Lanes inverse = 1.0f / everywhere(total);
    for (int64_t i = 0; i < parts; ++i) lanes[i] *= inverse;
}

#if defined(__AVX512F__)
// The totals of the lanes of sixteen vectors, each taken in the order of total_of: halves are added, of two vectors at
// a time, then quarters, and so on.
inline Lanes totals_of(const Lanes *x) {
    __m512 halves[8], quarters[4], pairs[2];
    for (int i = 0; i < 8; ++i) {
        const __m512 a = reinterpret_cast<__m512>(x[2 * i]), b = reinterpret_cast<__m512>(x[2 * i + 1]);
        halves[i] = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));
    }
    for (int i = 0; i < 4; ++i) {
        const __m512 a = halves[2 * i], b = halves[2 * i + 1];
        quarters[i] = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xDD));
    }
    for (int i = 0; i < 2; ++i) {
        const __m512 a = quarters[2 * i], b = quarters[2 * i + 1];
        pairs[i] = _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xEE));
    }
    const __m512 totals = _mm512_add_ps(_mm512_shuffle_ps(pairs[0], pairs[1], 0x88), _mm512_shuffle_ps(pairs[0], pairs[1], 0xDD));
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return reinterpret_cast<Lanes>(_mm512_permutexvar_ps(order, totals));
}
#endif

// scores (heads, whole(keys)) = scaled inner products of one query with the keys.
template <class At> void compare(const Sizes &s, const float *query, int64_t keys, const At &at, float *scores) {
    const int64_t q = s.query_width, wide = whole(keys);
    const float scale = 1.0f / std::sqrt(static_cast<float>(q));
#if defined(__AVX512F__)
    if (q % LANES == 0) {
        for (int64_t first = 0; first < keys; first += LANES) {
            decltype(at(0)) key[LANES];
            for (int64_t n = 0; n < LANES; ++n) key[n] = at(std::min(first + n, keys - 1));
            for (int64_t h = 0; h < s.heads; ++h) {
                Lanes sum[LANES] = {};
                for (int64_t i = h * q; i < (h + 1) * q; i += LANES) {
                    const Lanes part = lanes_of(query + i);
                    for (int64_t n = 0; n < LANES; ++n) sum[n] += part * lanes_of(key[n] + i);
                }
                *reinterpret_cast<Lanes *>(scores + h * wide + first) = totals_of(sum) * scale;
            }
        }
        return;
    }
#endif
    for (int64_t i = 0; i < keys; ++i) {
        const auto *key = at(i);
        for (int64_t h = 0; h < s.heads; ++h) scores[h * wide + i] = inner_product(query + h * q, key + h * q, q) * scale;
    }
}

// One query over keys and values whose rows `at(i)` finds; heads side by side, values behind the keys.
// scores (heads, whole(keys)) is room.
template <class At>
void attend(const Sizes &s, const float *query, int64_t keys, const At &at, float *scores, float *out) {
    const int64_t v = s.value_width, behind = s.heads * s.query_width, wide = whole(keys);
    compare(s, query, keys, at, scores);
    for (int64_t h = 0; h < s.heads; ++h) softmax(scores + h * wide, keys);
    for (int64_t h = 0; h < s.heads; ++h) {
        const float *weight = scores + h * wide;
        int64_t c = h * v;
        for (; c + 4 * LANES <= (h + 1) * v; c += 4 * LANES) {
            Lanes sum[4] = {};
            for (int64_t i = 0; i < keys; ++i) {
                const auto *value = at(i) + behind + c;
                for (int64_t n = 0; n < 4; ++n) sum[n] += weight[i] * lanes_of(value + n * LANES);
            }
            for (int64_t n = 0; n < 4; ++n) *reinterpret_cast<Lanes *>(out + c + n * LANES) = sum[n];
        }
        for (; c + LANES <= (h + 1) * v; c += LANES) {
            Lanes sum = {};
            for (int64_t i = 0; i < keys; ++i) sum += weight[i] * lanes_of(at(i) + behind + c);
            *reinterpret_cast<Lanes *>(out + c) = sum;
        }
        for (; c < (h + 1) * v; ++c) {
            float sum = 0.0f;
            for (int64_t i = 0; i < keys; ++i) sum += weight[i] * read(at(i)[behind + c]);
            out[c] = sum;
        }
    }
}

// x times the logistic function of x. Beyond 88 the exponential has no room in 32 bits, and the quotient is as good as 0.
inline float swish(float x) { return x / (1.0f + exponential(std::min(-x, 88.0f))); }

void activate(float *x, const float *gate, int64_t n, int64_t activation) {
    if (activation == RELU)
        for (int64_t i = 0; i < n; ++i) x[i] = x[i] > 0.0f ? x[i] : (x[i] == x[i] ? 0.0f : x[i]);
    else if (activation == GELU)
        for (int64_t i = 0; i < n; ++i) x[i] *= 0.5f * (1.0f + std::erf(x[i] * 0.70710678f));
    else if (activation == SWIGLU)
        for (int64_t i = 0; i < n; ++i) x[i] *= swish(gate[i]);
    else
        for (int64_t i = 0; i < n; ++i) x[i] = swish(x[i]);
}

// ---------------------------------------------------------------- the stacks

constexpr int64_t LINE = 64;  // bytes of a line of the cache

// From row to row: a line of the cache more than the numbers. At a multiple of 4 KiB all rows would compete for the same few
// lines.
template <class T = float> constexpr int64_t apart(int64_t numbers) { return numbers + LINE / static_cast<int64_t>(sizeof(T)); }

// What is computed with; kept from call to call of one search, and only ever grown.
struct Room {
    std::vector<float> ready, scale, normed, query, joined, changed, hidden, gate, scores;
    static float *of(std::vector<float> &v, int64_t n) {
        if (static_cast<int64_t>(v.size()) < n) v.resize(static_cast<size_t>(n));
        return v.data();
    }
};

template <class P> class Stacks {
  public:
    explicit Stacks(const Model &model) : m(model), s(model.sizes) {}

    // out (rows, stride) = the rows through one map.
    __attribute__((noinline)) void linear(const Rows &ready, int64_t rows, const Weight &w, float *out, int64_t stride) {
        linear(ready, rows, w, [=](int64_t r) { return out + r * stride; });
    }

    // The same to wherever `out(r)` is.
    template <class Out> void linear(const Rows &ready, int64_t rows, const Weight &w, const Out &out) {
        product<P>(ready, rows, w, [&](int64_t r, int64_t first, const Floats *x) {
            auto *to = out(r) + first;
            if (first + PANEL <= w.outputs)
                for (int v = 0; v < 2; ++v) write(to + v * WIDTH, x[v]);
            else
                for (int64_t i = 0; i < w.outputs - first; ++i) write(to[i], x[i / WIDTH][i % WIDTH]);
        });
    }

    __attribute__((noinline)) Rows ready(const float *x, int64_t stride, int64_t rows, int64_t inputs) {
        Rows out;
        make_ready(P(), x, stride, rows, inputs, Room::of(room.ready, room_of_rows(rows, inputs)),
                   Room::of(room.scale, rows), out);
        return out;
    }

    // The input of a sublayer: x itself, or normalised before it.
    Rows enter(const float *x, int64_t rows, const Norm &norm) {
        if (!s.pre_norm) return ready(x, s.d_model, rows, s.d_model);
        float *normed = Room::of(room.normed, rows * s.d_model);
        normalise(x, norm, rows, s.d_model, m.epsilon, normed);
        return ready(normed, s.d_model, rows, s.d_model);
    }

    // Back to x: the sublayer's output through its last map, the residual, and the normalisation of the paper.
    void leave(const float *inner, int64_t stride, int64_t rows, const Weight &w, const Norm &norm, float *x) {
        const Rows input = ready(inner, stride, rows, w.inputs);
        const int64_t d = s.d_model;
        float *changed = Room::of(room.changed, rows * apart(d));
        linear(input, rows, w, changed, apart(d));
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t i = 0; i < d; ++i) x[r * d + i] += changed[r * apart(d) + i];
        if (!s.pre_norm) normalise(x, norm, rows, s.d_model, m.epsilon, x);
    }

    void feed_forward(const FeedForward &f, int64_t rows, float *x) {
        const Rows input = enter(x, rows, f.norm);
        const int64_t stride = apart(s.d_ff);
        float *hidden = Room::of(room.hidden, rows * stride), *gate = nullptr;
        linear(input, rows, f.inner, hidden, stride);
        if (s.activation == SWIGLU) linear(input, rows, f.gate, gate = Room::of(room.gate, rows * stride), stride);
        for (int64_t r = 0; r < rows; ++r) activate(hidden + r * stride, gate ? gate + r * stride : nullptr, s.d_ff, s.activation);
        leave(hidden, stride, rows, f.outer, f.norm, x);
    }

    // Sentences one after the other in x; offsets has one more entry than there are sentences.
    void encode(const int64_t *ids, const int64_t *offsets, int64_t sentences, float *x) {
        const int64_t d = s.d_model, q = s.heads * s.query_width, wide = q + s.heads * s.value_width;
        const int64_t rows = offsets[sentences] - offsets[0];
        for (int64_t b = 0, r = 0; b < sentences; ++b)
            for (int64_t i = 0; i < offsets[b + 1] - offsets[b]; ++i, ++r)
                embed(m.source_table + ids[r] * d, m.source_positions + i * d, x + r * d);
        for (const EncoderLayer &layer : m.encoder) {
            const Rows input = enter(x, rows, layer.norm);
            const int64_t next = apart(wide);
            float *query = Room::of(room.query, rows * apart(q)), *key_value = Room::of(room.hidden, rows * next);
            float *joined = Room::of(room.joined, rows * s.heads * s.value_width);
            linear(input, rows, layer.query, query, apart(q));
            linear(input, rows, layer.key_value, key_value, next);
            for (int64_t b = 0; b < sentences; ++b) {
                const int64_t first = offsets[b] - offsets[0], length = offsets[b + 1] - offsets[b];
                float *scores = Room::of(room.scores, s.heads * whole(length));
                for (int64_t i = first; i < first + length; ++i)
                    attend(s, query + i * apart(q), length, [&](int64_t j) { return key_value + (first + j) * next; }, scores,
                           joined + i * s.heads * s.value_width);
            }
            leave(joined, s.heads * s.value_width, rows, layer.output, layer.norm, x);
            feed_forward(layer.feed_forward, rows, x);
        }
        if (s.pre_norm) normalise(x, m.encoder_norm, rows, d, m.epsilon, x);
    }

    void embed(const float *word, const float *position, float *x) {
        for (int64_t i = 0; i < s.d_model; ++i) x[i] = word[i] * m.scale + position[i];
    }

    const Model &m;
    const Sizes &s;
    Room room;
};

// ---------------------------------------------------------------- the best of a row

// The greatest logits of a row, and the sum of the exponentials of all, as the panels of the vocabulary come by.
struct Best {
    int64_t kept = 0;
    float reference = NONE, bar = NONE;  // exponentials are of logit - reference; what is not above the bar is not kept
    float sums[WIDTH] = {};
    std::vector<float> value;
    std::vector<int64_t> id;

    void begin(int64_t most) {
        kept = 0;
        reference = bar = NONE;
        std::fill(sums, sums + WIDTH, 0.0f);
        value.resize(static_cast<size_t>(most));
        id.resize(static_cast<size_t>(most));
    }

    // Ids come in rising order, so that of equals the lowest stays.
    void offer(float x, int64_t symbol) {
        const int64_t most = static_cast<int64_t>(value.size());
        int64_t place = kept < most ? kept++ : most - 1;
        for (; place > 0 && value[place - 1] < x; --place) {
            value[place] = value[place - 1];
            id[place] = id[place - 1];
        }
        value[place] = x;
        id[place] = symbol;
        if (kept == most) bar = value[most - 1];
    }

    // Keep exponentials within float: far from both of its ends.
    void refer_to(float highest) {
        const float factor = reference == NONE ? 0.0f : std::exp(reference - highest);
        for (float &sum : sums) sum *= factor;
        reference = highest;
    }

    float log_total() const {
        float total = 0.0f;
        for (const float sum : sums) total += sum;
        return reference + std::log(total);
    }
};

// ---------------------------------------------------------------- the search

struct Settings {  // as kernels/search.py writes them
    int64_t beam_size, n_best, min_length, pad, begin, end;
};

struct Slot {
    enum { EMPTY, LIVE, ENDED } kind = EMPTY;
    float total = NONE;
    int64_t step = 0, row = 0;   // LIVE: its row in the coming step. ENDED: the row that wrote its last symbol, and when.
    int64_t symbol = 0, length = 0;
    float log_probability = 0.0f;
};

struct Step {  // what the rows of one step were
    std::vector<int64_t> symbol, parent, sentence;
    std::vector<float> log_probability;
};

// Rows of numbers that live as long as one search, in large blocks: one a layer and step would cost the system hundreds of
// thousands of small pages.
class Pool {
  public:
    Pool() = default;
    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;
    ~Pool() {
        for (void *block : blocks) std::free(block);
    }

    template <class T> T *rows(int64_t number, int64_t width) {
        const size_t bytes = (static_cast<size_t>(number * width) * sizeof(T) + LINE - 1) / LINE * LINE;
        if (bytes > left) add_block(bytes);
        left -= bytes;
        return reinterpret_cast<T *>(std::exchange(next, next + bytes));
    }

  private:
    // Bytes: a large page of x86-64, a block.
    static constexpr size_t PAGE = size_t{2} << 20, LEAST = size_t{8} << 20;

    void add_block(size_t wanted) {
        const size_t bytes = (std::max(wanted, LEAST) + PAGE - 1) / PAGE * PAGE;
        blocks.push_back(std::aligned_alloc(PAGE, bytes));
        if (!blocks.back()) throw std::bad_alloc();
#if defined(__linux__)
        madvise(blocks.back(), bytes, MADV_HUGEPAGE);  // where the system does not, it is slower and nothing else
#endif
        next = static_cast<char *>(blocks.back());
        left = bytes;
    }

    std::vector<void *> blocks;
    char *next = nullptr;
    size_t left = 0;
};

// Keys and values of rows, all layers of a row in one place: (decoder_layers, heads * (query_width + value_width)). Of the rows of
// a beam few have heirs some steps later, so that most places are taken again.
template <class T> class KeyValues {
  public:
    KeyValues(Pool &pool, int64_t width) : pool(pool), width(width) {}

    int32_t take() {
        if (free.empty()) {
            free.push_back(static_cast<int32_t>(start.size()));
            start.push_back(pool.rows<T>(1, width));
            needed.push_back(0);
        }
        taken.push_back(free.back());
        free.pop_back();
        return taken.back();
    }

    // Give back all but those that are still `needed`.
    void keep(const std::vector<int32_t> &those) {
        ++now;
        for (const int32_t place : those) needed[place] = now;
        size_t kept = 0;
        for (const int32_t place : taken) (needed[place] == now ? taken[kept++] : free.emplace_back()) = place;
        taken.resize(kept);
    }

    T *at(int32_t place) const { return start[place]; }

  private:
    Pool &pool;
    const int64_t width;
    std::vector<T *> start;
    std::vector<int32_t> taken, free;
    std::vector<int64_t> needed;  // when each place was last needed, in calls of keep
    int64_t now = 0;
};

template <class P> class Search {
    typedef typename P::Kept Kept;

  public:
    Search(const Model &model, const Settings &settings, float alpha)
        : m(model), s(model.sizes), set(settings), alpha(alpha), stacks(model),
          past_key_values(pool, apart<Kept>(s.decoder_layers * s.heads * (s.query_width + s.value_width))) {}

    // found: (sentences, beam_size) of out_*; out_length 0 where there is none.
    void run(const int64_t *ids, const int64_t *offsets, int64_t sentences, const int64_t *max_lengths, int64_t longest,
             int64_t *out_ids, float *out_log_probabilities, int64_t *out_length) {
        limits = max_lengths;
        starts = offsets;
        const int64_t d = s.d_model;
        const int64_t tokens = offsets[sentences];
        for (int64_t l = 0; l < s.decoder_layers; ++l) source.push_back(pool.rows<Kept>(tokens, source_apart()));
        std::vector<float> x;
        for (int64_t b = 0; b < sentences;) {  // some sentences at a time, so that what they are stays in the cache
            int64_t e = b + 1;
            while (e < sentences && offsets[e + 1] - offsets[b] <= 256) ++e;
            const int64_t rows = offsets[e] - offsets[b];
            x.resize(static_cast<size_t>(rows * d));
            stacks.encode(ids + offsets[b], offsets + b, e - b, x.data());
            const Rows input = stacks.ready(x.data(), d, rows, d);
            for (int64_t l = 0; l < s.decoder_layers; ++l)
                stacks.linear(input, rows, m.decoder[l].source_key_value,
                              [&](int64_t r) { return source[l] + (offsets[b] + r) * source_apart(); });
            b = e;
        }
        slots.assign(static_cast<size_t>(sentences * set.beam_size), Slot());
        Step first;
        for (int64_t b = 0; b < sentences; ++b) {
            Slot &slot = slots[b * set.beam_size];
            slot.kind = Slot::LIVE;
            slot.total = 0.0f;
            slot.row = b;
            add_row(first, set.begin, -1, b, 0.0f);
        }
        steps.push_back(std::move(first));
        std::vector<int64_t> live(static_cast<size_t>(sentences));
        for (int64_t b = 0; b < sentences; ++b) live[b] = b;
        while (!live.empty()) {
            step();
            Step next;
            std::vector<int64_t> still;
            for (const int64_t b : live) {
                const size_t before = next.symbol.size();
                advance(b, next);
                if (is_finished(b)) {
                    truncate(next, before);
                    write_down(b, longest, out_ids, out_log_probabilities, out_length);
                } else {
                    still.push_back(b);
                }
            }
            live = std::move(still);
            follow(next);
            steps.push_back(std::move(next));
        }
    }

  private:
    int64_t source_apart() const { return apart<Kept>(s.heads * (s.query_width + s.value_width)); }

    static void add_row(Step &to, int64_t symbol, int64_t parent, int64_t sentence, float log_probability) {
        to.symbol.push_back(symbol);
        to.parent.push_back(parent);
        to.sentence.push_back(sentence);
        to.log_probability.push_back(log_probability);
    }

    static void truncate(Step &step, size_t rows) {
        step.symbol.resize(rows);
        step.parent.resize(rows);
        step.sentence.resize(rows);
        step.log_probability.resize(rows);
    }

    // Each row of the coming step stands on its parent and its parent's ancestors.
    void follow(const Step &next) {
        const size_t before = steps.size() - 1;  // entries that a parent has
        std::vector<int32_t> own(next.parent.size() * (before + 1));
        for (size_t r = 0; r < next.parent.size(); ++r) {
            const size_t parent = static_cast<size_t>(next.parent[r]);
            std::copy_n(ancestors.begin() + parent * before, before, own.begin() + r * (before + 1));
            own[r * (before + 1) + before] = here[parent];
        }
        ancestors = std::move(own);
        past_key_values.keep(ancestors);
    }

    // Read one more symbol in every row; `best` then knows what each may write.
    void step() {
        const Step &now = steps.back();
        const int64_t rows = static_cast<int64_t>(now.symbol.size()), past = static_cast<int64_t>(steps.size()) - 1;
        const int64_t d = s.d_model, q = s.heads * s.query_width, v = s.heads * s.value_width, wide = q + v;
        Room &room = stacks.room;
        hidden.resize(static_cast<size_t>(rows * d));
        float *x = hidden.data();
        here.resize(static_cast<size_t>(rows));
        for (int32_t &place : here) place = past_key_values.take();
        for (int64_t r = 0; r < rows; ++r)
            stacks.embed(m.target_table + now.symbol[r] * d, m.target_positions + past * d, x + r * d);
        for (int64_t l = 0; l < s.decoder_layers; ++l) {
            const DecoderLayer &layer = m.decoder[l];
            const auto key_value = [&](int32_t place) { return past_key_values.at(place) + l * wide; };
            float *query = Room::of(room.query, rows * apart(q)), *joined = Room::of(room.joined, rows * v);
            Rows input = stacks.enter(x, rows, layer.norm);
            stacks.linear(input, rows, layer.query, query, apart(q));
            stacks.linear(input, rows, layer.key_value, [&](int64_t r) { return key_value(here[r]); });
            float *scores = Room::of(room.scores, s.heads * whole(past + 1));
            found.resize(static_cast<size_t>(past + 1));
            for (int64_t r = 0; r < rows; ++r) {
                for (int64_t t = 0; t < past; ++t) found[t] = key_value(ancestors[r * past + t]);
                found[past] = key_value(here[r]);
                attend(s, query + r * apart(q), past + 1, [&](int64_t t) { return found[t]; }, scores, joined + r * v);
            }
            stacks.leave(joined, v, rows, layer.output, layer.norm, x);
            input = stacks.enter(x, rows, layer.source_norm);
            stacks.linear(input, rows, layer.source_query, query, apart(q));
            for (int64_t r = 0; r < rows; ++r) {
                const int64_t b = now.sentence[r], length = starts[b + 1] - starts[b];
                const Kept *from = source[l] + starts[b] * source_apart();
                attend(s, query + r * apart(q), length, [&](int64_t i) { return from + i * source_apart(); },
                       Room::of(room.scores, s.heads * whole(length)), joined + r * v);
            }
            stacks.leave(joined, v, rows, layer.source_output, layer.source_norm, x);
            stacks.feed_forward(layer.feed_forward, rows, x);
        }
        if (s.pre_norm) normalise(x, m.decoder_norm, rows, d, m.epsilon, x);
        rank(x, rows);
    }

    void rank(const float *x, int64_t rows) {
        if (static_cast<int64_t>(best.size()) < rows) best.resize(static_cast<size_t>(rows));
        for (int64_t r = 0; r < rows; ++r) best[r].begin(std::min(set.beam_size, s.target_vocabulary));
        const Rows input = stacks.ready(x, s.d_model, rows, s.d_model);
        product<P>(input, rows, m.output, [&](int64_t r, int64_t first, const Floats *logits) {
            Best &row = best[r];
            const Floats bar = row.bar + Floats{};
            const Integers above = (logits[0] > bar) | (logits[1] > bar);
            if (any(above)) consider(row, first, logits);
            *reinterpret_cast<Lanes *>(row.sums) += exponentials(logits[0] - row.reference) + exponentials(logits[1] - row.reference);
        });
    }

    static inline bool any(Integers mask) {
#if defined(__AVX512F__)
        return _mm512_test_epi32_mask(reinterpret_cast<__m512i>(mask), reinterpret_cast<__m512i>(mask)) != 0;
#else
        int32_t found = 0;
        for (int64_t i = 0; i < WIDTH; ++i) found |= mask[i];
        return found != 0;
#endif
    }

    void consider(Best &row, int64_t first, const Floats *logits) {
        for (int64_t i = 0; i < PANEL && first + i < s.target_vocabulary; ++i) {
            const float x = logits[i / WIDTH][i % WIDTH];
            const int64_t symbol = first + i;
            if (x > row.reference + 40.0f || row.reference == NONE) row.refer_to(x);
            if (x > row.bar && may_write(symbol)) row.offer(x, symbol);
        }
    }

    bool may_write(int64_t symbol) const {
        if (symbol == set.end) return static_cast<int64_t>(steps.size()) > set.min_length;
        return symbol != set.pad && symbol != set.begin;
    }

    // Fill the slots of a sentence: those that have ended stay, the best candidates take the others.
    void advance(int64_t b, Step &next) {
        struct Candidate {
            float total, log_probability;
            int64_t row, symbol, length;
        };
        Slot *own = slots.data() + b * set.beam_size;
        std::vector<Slot> filled;
        std::vector<Candidate> candidates;
        for (int64_t w = 0; w < set.beam_size; ++w) {
            if (own[w].kind == Slot::ENDED) filled.push_back(own[w]);
            if (own[w].kind != Slot::LIVE) continue;
            Best &row = best[own[w].row];
            const float total = row.log_total();
            for (int64_t i = 0; i < row.kept; ++i) {
                const float log_probability = row.value[i] - total;
                candidates.push_back({own[w].total + log_probability, log_probability, own[w].row, row.id[i], own[w].length + 1});
            }
        }
        // Within a row equals stand in the order of their ids, and rows in the order of slots.
        std::stable_sort(candidates.begin(), candidates.end(),
                         [](const Candidate &a, const Candidate &c) { return a.total > c.total; });
        for (const Candidate &c : candidates) {
            if (static_cast<int64_t>(filled.size()) == set.beam_size) break;
            if (!(c.total > NONE)) continue;
            Slot slot;
            slot.total = c.total;
            slot.length = c.length;
            slot.symbol = c.symbol;
            slot.log_probability = c.log_probability;
            if (c.symbol == set.end || c.length >= limits[b]) {
                slot.kind = Slot::ENDED;
                slot.step = static_cast<int64_t>(steps.size()) - 1;
                slot.row = c.row;
            } else {
                slot.kind = Slot::LIVE;
                slot.row = static_cast<int64_t>(next.symbol.size());
                add_row(next, c.symbol, c.row, b, c.log_probability);
            }
            filled.push_back(slot);
        }
        filled.resize(static_cast<size_t>(set.beam_size));
        std::copy(filled.begin(), filled.end(), own);
    }

    float score(float total, int64_t length) const {
        return total / std::pow((5.0f + static_cast<float>(length)) / 6.0f, alpha);
    }

    // No live slot can still be among the n_best: decoding/beam_search.py says why these two lengths are enough.
    bool is_finished(int64_t b) const {
        const Slot *own = slots.data() + b * set.beam_size;
        std::vector<float> ended;
        float hope = NONE;
        bool live = false;
        for (int64_t w = 0; w < set.beam_size; ++w) {
            if (own[w].kind == Slot::ENDED) ended.push_back(score(own[w].total, own[w].length));
            if (own[w].kind != Slot::LIVE) continue;
            live = true;
            hope = std::max({hope, score(own[w].total, own[w].length + 1), score(own[w].total, limits[b])});
        }
        if (!live) return true;
        if (static_cast<int64_t>(ended.size()) < set.n_best) return false;
        std::nth_element(ended.begin(), ended.begin() + (set.n_best - 1), ended.end(), std::greater<float>());
        return hope <= ended[set.n_best - 1];
    }

    void write_down(int64_t b, int64_t longest, int64_t *ids, float *log_probabilities, int64_t *lengths) const {
        for (int64_t w = 0; w < set.beam_size; ++w) {
            const Slot &slot = slots[b * set.beam_size + w];
            const int64_t place = b * set.beam_size + w;
            lengths[place] = slot.kind == Slot::ENDED ? slot.length : 0;
            if (slot.kind != Slot::ENDED) continue;
            int64_t at = slot.length - 1, step = slot.step, row = slot.row;
            ids[place * longest + at] = slot.symbol;
            log_probabilities[place * longest + at] = slot.log_probability;
            for (--at; at >= 0; --at, row = steps[step].parent[row], --step) {
                ids[place * longest + at] = steps[step].symbol[row];
                log_probabilities[place * longest + at] = steps[step].log_probability[row];
            }
        }
    }

    const Model &m;
    const Sizes &s;
    const Settings set;
    const float alpha;
    Stacks<P> stacks;
    Pool pool;
    const int64_t *limits = nullptr, *starts = nullptr;
    std::vector<Kept *> source;  // a decoder layer: keys and values of all source tokens
    std::vector<Slot> slots;     // (sentences, beam_size)
    std::vector<Step> steps;
    KeyValues<Kept> past_key_values;
    std::vector<int32_t> here, ancestors;  // in it: (rows), and (rows, steps before)
    std::vector<const Kept *> found;
    std::vector<float> hidden;
    std::vector<Best> best;
};

template <class P>
int search(const int64_t *sizes, const void *const *addresses, float epsilon, const int64_t *settings, float alpha,
           int64_t sentences, const int64_t *ids, const int64_t *offsets, const int64_t *max_lengths, int64_t longest,
           int64_t *out_ids, float *out_log_probabilities, int64_t *out_length) {
    try {
        const Model model = read_model(sizes, addresses, epsilon);
        Settings set;
        std::memcpy(&set, settings, sizeof(Settings));
        Search<P>(model, set, alpha)
            .run(ids, offsets, sentences, max_lengths, longest, out_ids, out_log_probabilities, out_length);
        return 0;
    } catch (const std::bad_alloc &) {
        return 1;
    }
}

}  // namespace

#define EXPORT(KIND, NAME)                                                                                             \
    int pack_##NAME(const float *weight, int64_t outputs, int64_t inputs, void *panels, float *scale, int32_t *shift) { \
        pack<KIND>(weight, outputs, inputs, panels, scale, shift);                                                     \
        return 0;                                                                                                      \
    }                                                                                                                  \
    int64_t groups_##NAME(int64_t inputs) { return groups_of<KIND>(inputs); }                                          \
    int search_##NAME(const int64_t *sizes, const void *const *addresses, float epsilon, const int64_t *settings,      \
                      float alpha, int64_t sentences, const int64_t *ids, const int64_t *offsets,                      \
                      const int64_t *max_lengths, int64_t longest, int64_t *out_ids, float *out_log_probabilities,     \
                      int64_t *out_length) {                                                                           \
        return search<KIND>(sizes, addresses, epsilon, settings, alpha, sentences, ids, offsets, max_lengths, longest, \
                            out_ids, out_log_probabilities, out_length);                                               \
    }

extern "C" {
int64_t panel_width() { return PANEL; }
EXPORT(Single, f32)
#if defined(HAS_HALF)
EXPORT(Half, bf16)
#endif
#if defined(HAS_BYTE)
EXPORT(Byte, i8)
#endif
}
