/* The steps of the recurrences: those of `scan.py` and `unrolled.py`, in the same buffers.

   Numbers are float32 and rows are contiguous. Sums have a fixed order, so a build repeats its
   bits. exp and tanh are within 2 units in the last place; NaN and infinity pass through. */

#include <string.h>

#if defined(__AVX512F__)
#define WIDTH 16
#define ROWS 8 /* of a tile of a product, which is two vectors wide */
#elif defined(__AVX__)
#define WIDTH 8
#define ROWS 4
#else
#define WIDTH 4
#define ROWS 4
#endif

typedef float vec __attribute__((vector_size(4 * WIDTH)));
typedef unsigned bits __attribute__((vector_size(4 * WIDTH)));
typedef long count;

static inline __attribute__((always_inline)) vec load(const float *from, count left) {
    vec v = {0};
    if (left >= WIDTH) memcpy(&v, from, sizeof v);
    else memcpy(&v, from, 4 * left);
    return v;
}

static inline void store(float *to, vec v, count left) {
    if (left >= WIDTH) memcpy(to, &v, sizeof v);
    else memcpy(to, &v, 4 * left);
}

static inline __attribute__((always_inline)) vec all(float x) {
    return x - (vec){0};
}

static inline __attribute__((always_inline)) vec pick(bits mask, vec yes, vec no) {
    return (vec)((mask & (bits)yes) | (~mask & (bits)no));
}

static inline __attribute__((always_inline)) float total(vec v) {
    float sum = 0;
    for (int i = 0; i < WIDTH; i++) sum += v[i];
    return sum;
}

/* Cody and Waite's reduction to |r| <= log(2) / 2, and the polynomial of Cephes' expf. */
static inline __attribute__((always_inline)) vec exp_of(vec x) {
    const float shift = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */
    vec n = x * 1.44269504088896341f + shift;
    bits power = ((bits)n + 126u) << 23; /* 2^(n - 1), so that 2^128 is not reached */
    n -= shift;
    vec r = x - n * 0.693359375f + n * 2.12194440e-4f;
    vec p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    vec found = (p * r * r + r + 1.0f) * (vec)power * 2.0f;
    found = pick((bits)(x > 88.722835f), all(__builtin_inff()), found);
    return pick((bits)(x < -87.0f), all(0.0f), found);
}

static inline __attribute__((always_inline)) vec sigmoid(vec x) { return 1.0f / (1.0f + exp_of(-x)); }

/* Cephes' tanhf: a polynomial up to 0.625, the exponential beyond. */
static inline __attribute__((always_inline)) vec tanh_of(vec x) {
    bits sign = (bits)x & 0x80000000u;
    vec size = (vec)((bits)x & 0x7fffffffu), square = x * x;
    vec p = square * -5.70498872745e-3f + 2.06390887954e-2f;
    p = p * square - 5.37397155531e-2f;
    p = p * square + 1.33314422036e-1f;
    p = p * square - 3.33332819422e-1f;
    vec far = 1.0f - 2.0f / (exp_of(2.0f * size) + 1.0f);
    return pick((bits)(size < 0.625f), p * square * x + x, (vec)((bits)far | sign));
}

static inline __attribute__((always_inline)) void tile(
    const int rows, count inner, const float *a, count lda, const float *b, count ldb, float *c,
    count ldc, count left) {
    vec sums[ROWS][2];
    for (int i = 0; i < rows; i++) {
        sums[i][0] = load(c + i * ldc, left);
        sums[i][1] = left > WIDTH ? load(c + i * ldc + WIDTH, left - WIDTH) : all(0);
    }
    for (count k = 0; k < inner; k++) {
        vec first = load(b + k * ldb, left);
        vec second = left > WIDTH ? load(b + k * ldb + WIDTH, left - WIDTH) : all(0);
        for (int i = 0; i < rows; i++) {
            vec factor = all(a[i * lda + k]);
            sums[i][0] += factor * first;
            sums[i][1] += factor * second;
        }
    }
    for (int i = 0; i < rows; i++) {
        store(c + i * ldc, sums[i][0], left);
        if (left > WIDTH) store(c + i * ldc + WIDTH, sums[i][1], left - WIDTH);
    }
}

/* c += a b, with b of `inner` rows and `columns`; lda, ldb and ldc are lengths of rows. */
static void add_product(
    count rows, count columns, count inner, const float *a, count lda, const float *b, count ldb,
    float *c, count ldc) {
    for (count j = 0; j < columns; j += 2 * WIDTH) {
        count left = columns - j, i = 0;
#define TILES(n, wide)                                                                         \
    for (; i + n <= rows; i += n)                                                              \
        tile(n, inner, a + i * lda, lda, b + j, ldb, c + i * ldc + j, ldc, wide);
        if (left >= 2 * WIDTH) {
            TILES(ROWS, 2 * WIDTH)
            TILES(2, 2 * WIDTH)
            TILES(1, 2 * WIDTH)
        } else {
            TILES(1, left)
        }
#undef TILES
    }
}

enum { GRU, LSTM };
static const int GATES[] = {3, 4}, STATES[] = {1, 2}, KEPT[] = {4, 5};
/* The blocks of a cell: of gates that h feeds, of a state, and of the numbers that a step keeps. */
enum { BLOCKS = 4 };

/* The gates of one row before the state comes in, as in `Cell.begin`: x is a row of projected inputs
   and b the bias of W_h, in the order of W_h. */
static void begin(int cell, count size, const float *x, const float *b, float *kept) {
    for (count i = 0; i < size; i += WIDTH) {
        count left = size - i;
        for (int k = 0; k < GATES[cell]; k++) {
            count place = k * size + i;
            vec of_x = load(x + place, left), of_b = load(b + place, left);
            if (cell == GRU && k == 2) {
                store(kept + i, of_b, left);
                store(kept + 3 * size + i, of_x, left);
            } else {
                store(kept + (cell == GRU) * size + place, of_x + of_b, left);
            }
        }
    }
}

/* The next state of one row; `kept` as in `Cell.advance`. */
static void advance(int cell, count size, float *kept, const float *last, float *new) {
    for (count i = 0; i < size; i += WIDTH) {
        count left = size - i;
        vec block[BLOCKS];
        for (int k = 0; k < BLOCKS; k++) block[k] = load(kept + k * size + i, left);
        if (cell == GRU) {
            vec r = sigmoid(block[1]), z = sigmoid(block[2]);
            vec n = tanh_of(block[3] + r * block[0]);
            store(kept + size + i, r, left);
            store(kept + 2 * size + i, z, left);
            store(kept + 3 * size + i, n, left);
            store(new + i, n + z * (load(last + i, left) - n), left);
        } else {
            vec in = sigmoid(block[0]), forget = sigmoid(block[1]);
            vec g = tanh_of(block[2]), out = sigmoid(block[3]);
            vec c = forget * load(last + size + i, left) + in * g, t = tanh_of(c);
            store(kept + i, in, left);
            store(kept + size + i, forget, left);
            store(kept + 2 * size + i, g, left);
            store(kept + 3 * size + i, out, left);
            store(kept + 4 * size + i, t, left);
            store(new + i, out * t, left);
            store(new + size + i, c, left);
        }
    }
}

/* The gradients of the gates of one row from that of its new state, and the part of that of its
   last state, `own`, that does not go through W_h. */
static void pull(
    int cell, count size, const float *kept, const float *last, const float *of_new, float *gates,
    float *own) {
    for (count i = 0; i < size; i += WIDTH) {
        count left = size - i;
        vec of_h = load(of_new + i, left), block[BLOCKS], of[BLOCKS];
        for (int k = 0; k < BLOCKS; k++) block[k] = load(kept + k * size + i, left);
        if (cell == GRU) {
            vec h_n = block[0], r = block[1], z = block[2], n = block[3];
            of[3] = of_h * (1.0f - n * n) * (1.0f - z);
            of[0] = of[3] * r;
            of[1] = of[0] * h_n * (1.0f - r);
            of[2] = of_h * (load(last + i, left) - n) * z * (1.0f - z);
            store(own + i, load(own + i, left) + of_h * z, left);
        } else {
            vec in = block[0], forget = block[1], g = block[2], out = block[3];
            vec t = load(kept + 4 * size + i, left);
            vec of_c = load(of_new + size + i, left) + of_h * out * (1.0f - t * t);
            of[0] = of_c * g * (in - in * in);
            of[1] = of_c * load(last + size + i, left) * (forget - forget * forget);
            of[2] = of_c * in * (1.0f - g * g);
            of[3] = of_h * t * (out - out * out);
            store(own + size + i, load(own + size + i, left) + of_c * forget, left);
        }
        for (int k = 0; k < BLOCKS; k++) store(gates + k * size + i, of[k], left);
    }
}

/* x has a row of projected inputs for each copy, example and step, b a row for each copy. W has
   `copies` matrices of size x gates: those of `Cell.turned`, transposed. */
void scan(
    int cell, count length, count copies, count batch, count size, const float *x, const float *b,
    const float *W, float *kept, float *states) {
    count wide = KEPT[cell] * size, state = STATES[cell] * size;
    count of_h = GATES[cell] * size, all_rows = copies * batch;
    for (count t = 0; t < length; t++) {
        float *k = kept + t * all_rows * wide, *last = states + t * all_rows * state;
        for (count row = 0; row < all_rows; row++)
            begin(cell, size, x + (row * length + t) * of_h, b + row / batch * of_h,
                  k + row * wide);
        for (count c = 0; c < copies; c++)
            add_product(batch, of_h, size, last + c * batch * state, state, W + c * size * of_h,
                        of_h, k + c * batch * wide, wide);
        for (count row = 0; row < all_rows; row++)
            advance(cell, size, k + row * wide, last + row * state,
                    last + (all_rows + row) * state);
    }
}

/* W has `copies` matrices of gates x size. `own` begins as the gradient of the states. */
void scan_gradient(
    int cell, count length, count copies, count batch, count size, const float *W,
    const float *kept, const float *states, float *own, float *gates) {
    count wide = KEPT[cell] * size, state = STATES[cell] * size;
    count of_h = GATES[cell] * size, all_rows = copies * batch, four = BLOCKS * size;
    for (count t = length - 1; t >= 0; t--) {
        const float *k = kept + t * all_rows * wide, *last = states + t * all_rows * state;
        float *o = own + t * all_rows * state, *g = gates + t * all_rows * four;
        for (count row = 0; row < all_rows; row++)
            pull(cell, size, k + row * wide, last + row * state, o + (all_rows + row) * state,
                 g + row * four, o + row * state);
        for (count c = 0; t > 0 && c < copies; c++) /* nobody asks for that of the first state */
            add_product(batch, size, of_h, g + c * batch * four, four, W + c * of_h * size, size,
                        o + c * batch * state, state);
    }
}

/* The softmax of finite scores over the keys that `seen` allows, in place; 0 for the others. */
static void softmax(count keys, const unsigned char *seen, float *scores) {
    float top = -__builtin_inff(), sum = 0;
    for (count j = 0; j < keys; j++)
        if ((!seen || seen[j]) && !(scores[j] <= top)) top = scores[j];
    for (count j = 0; j < keys; j += WIDTH) {
        count left = keys - j;
        vec v = exp_of(load(scores + j, left) - top);
        for (count i = 0; i < WIDTH && i < left; i++) {
            scores[j + i] = !seen || seen[j + i] ? v[i] : 0;
            sum += scores[j + i];
        }
    }
    for (count j = 0; j < keys; j++) scores[j] = sum != 0 ? scores[j] / sum : 0;
}

enum { ADDITIVE, DOT };

/* The dot product of a query and each key; `inner` keeps the query. */
static void compare_by_dot(
    count keys, count projected, const float *key, const float *query, float *inner,
    float *scores) {
    memcpy(inner, query, 4 * projected);
    for (count j = 0; j < keys; j++) {
        vec sum = all(0);
        for (count p = 0; p < projected; p += WIDTH)
            sum += load(key + j * projected + p, projected - p) * load(query + p, projected - p);
        scores[j] = total(sum);
    }
}

/* The additive score of a query to each key, as in `AdditiveDerivative.compare`; the query becomes
   its exponential. */
static void compare_by_addition(
    count keys, count projected, const float *decay, float *query, const float *u,
    float minus_sum, float *inner, float *scores) {
    for (count p = 0; p < projected; p += WIDTH)
        store(query + p, exp_of(load(query + p, projected - p)), projected - p);
    for (count j = 0; j < keys; j++) {
        vec sum = all(0);
        for (count p = 0; p < projected; p += WIDTH) {
            count left = projected - p, place = j * projected + p;
            vec v = 1.0f / (1.0f + load(decay + place, left) * load(query + p, left));
            store(inner + place, v, left);
            sum += v * load(u + p, left);
        }
        scores[j] = minus_sum + total(sum);
    }
}

/* W is size x (projected + gates) and W_c values x gates; see `Unrolled`. `key` is the exponential
   of the negative keys for the additive score, and the keys for dot products, which have no u and
   minus_sum. `seen` may be null. */
void unrolled(
    int cell, count score, count length, count batch, count size, count projected, count keys, count wide_value,
    const float *x, const float *b_h, const float *W, const float *W_c,
    const float *values, const float *key, const float *u, const float *minus_sum, const unsigned char *seen, float *made, float *states, float *contexts,
    float *inner, float *weights) {
    count state = STATES[cell] * size, of_h = projected + GATES[cell] * size;
    count wide = projected + KEPT[cell] * size, of_x = GATES[cell] * size;
    count place = projected + (BLOCKS - GATES[cell]) * size;
    count wide_inner = score == DOT ? projected : keys * projected;
    for (count t = 0; t < length; t++) {
        float *m = made + t * batch * wide, *last = states + t * batch * state;
        float *context = contexts + t * batch * wide_value;
        for (count b = 0; b < batch; b++) {
            memset(m + b * wide, 0, 4 * projected);
            begin(cell, size, x + (b * length + t) * of_x, b_h, m + b * wide + projected);
        }
        add_product(batch, of_h, size, last, state, W, of_h, m, wide);
        memset(context, 0, 4 * batch * wide_value);
        for (count b = 0; b < batch; b++) {
            float *w = weights + (t * batch + b) * keys;
            float *query = m + b * wide, *i = inner + (t * batch + b) * wide_inner;
            const float *k = key + b * keys * projected;
            if (score == DOT) compare_by_dot(keys, projected, k, query, i, w);
            else compare_by_addition(keys, projected, k, query, u, *minus_sum, i, w);
            softmax(keys, seen ? seen + b * keys : 0, w);
            add_product(1, wide_value, keys, w, keys, values + b * keys * wide_value, wide_value,
                        context + b * wide_value, wide_value);
        }
        add_product(batch, of_x, wide_value, context, wide_value, W_c, of_x, m + place, wide);
        for (count b = 0; b < batch; b++)
            advance(cell, size, m + b * wide + projected, last + b * state,
                    last + (batch + b) * state);
    }
}

/* The gradients of a query and its keys from those of its scores. */
static void pull_dot(
    count keys, count projected, const float *key, const float *query, const float *of_scores,
    float *of_keys, float *of_query) {
    for (count p = 0; p < projected; p += WIDTH) {
        count left = projected - p;
        vec q = load(query + p, left), sum = all(0);
        for (count j = 0; j < keys; j++) {
            float *of_key = of_keys + j * projected + p;
            store(of_key, load(of_key, left) + q * of_scores[j], left);
            sum += load(key + j * projected + p, left) * of_scores[j];
        }
        store(of_query + p, sum, left);
    }
}

/* W is (projected + gates) x size and W_x gates x values. `own` and `given` begin as the gradients
   of states and contexts; of_keys, of_u and of_sum begin as 0, as in `AdditiveDerivative`.
   For dot products u has the keys, and there are no of_u and of_sum. */
void unrolled_gradient(
    int cell, count score, count length, count batch, count size, count projected, count keys, count wide_value,
    const float *W, const float *W_x, const float *values, const float *kept, const float *states,
    const float *inner, const float *weights, float *scores, float *own, float *given, float *made,
    const float *u, float *of_keys, float *of_u, float *of_sum) {
    count state = STATES[cell] * size, of_h = projected + GATES[cell] * size;
    count kept_wide = projected + KEPT[cell] * size, wide = projected + BLOCKS * size;
    count place = projected + (BLOCKS - GATES[cell]) * size;
    count wide_inner = score == DOT ? projected : keys * projected;
    for (count t = length - 1; t >= 0; t--) {
        float *o = own + t * batch * state, *m = made + t * batch * wide;
        float *g = given + t * batch * wide_value;
        for (count b = 0; b < batch; b++)
            pull(cell, size, kept + (t * batch + b) * kept_wide, states + (t * batch + b) * state,
                 o + (batch + b) * state, m + b * wide + projected, o + b * state);
        add_product(batch, wide_value, GATES[cell] * size, m + place, wide, W_x, wide_value, g,
                    wide_value);
        for (count b = 0; b < batch; b++) {
            const float *w = weights + (t * batch + b) * keys;
            const float *row = inner + (t * batch + b) * wide_inner;
            float *of_key = of_keys + b * keys * projected;
            float mean = 0;
            for (count j = 0; j < keys; j++) {
                vec sum = all(0);
                for (count v = 0; v < wide_value; v += WIDTH)
                    sum += load(g + b * wide_value + v, wide_value - v) *
                           load(values + (b * keys + j) * wide_value + v, wide_value - v);
                scores[j] = total(sum);
                mean += w[j] * scores[j];
            }
            for (count j = 0; j < keys; j++) {
                scores[j] = w[j] * (scores[j] - mean);
                if (score == ADDITIVE) *of_sum += scores[j];
            }
            if (score == DOT) {
                pull_dot(keys, projected, u + b * keys * projected, row, scores, of_key,
                         m + b * wide);
                continue;
            }
            for (count p = 0; p < projected; p += WIDTH) {
                count left = projected - p;
                vec of_query = all(0), summed = load(of_u + p, left);
                for (count j = 0; j < keys; j++) {
                    float *key = of_key + j * projected + p;
                    vec v = load(row + j * projected + p, left), slope = (v - v * v) * scores[j];
                    store(key, load(key, left) + slope, left);
                    summed += v * scores[j];
                    of_query += slope;
                }
                store(of_u + p, summed, left);
                store(m + b * wide + p, -load(u + p, left) * of_query, left);
            }
        }
        add_product(batch, size, of_h, m, wide, W, size, o, state);
    }
}
