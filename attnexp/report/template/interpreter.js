// Computes a program: the graph of a model's forward pass, as attnexp.tracing.program writes it.
//
// A value is {shape, data}: numbers in the order of the last axis first, in a Float32Array, an
// Int32Array for whole numbers, or a Uint8Array for true and false. Views are copies.
"use strict";
const Interpreter = (() => {
  const ARRAYS = { float: Float32Array, int: Int32Array, bool: Uint8Array };
  const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);
  const at = (axis, shape) => (axis < 0 ? axis + shape.length : axis);
  const empty = (shape, kind) => ({ shape, kind, data: new ARRAYS[kind](sizeOf(shape)) });
  const isValue = (x) => x !== null && typeof x === "object" && "data" in x;
  const scalar = (x) => ({ shape: [], kind: "float", data: [Number(x)] });

  function strides(shape) {
    const steps = new Array(shape.length);
    for (let i = shape.length - 1, step = 1; i >= 0; step *= shape[i--]) steps[i] = step;
    return steps;
  }

  // The place of each number of `shape` in the data of a value that is read with these steps.
  function places(shape, steps, start = 0) {
    const found = new Int32Array(sizeOf(shape)).fill(start);
    const index = new Array(shape.length).fill(0);
    for (let n = 0, place = start; n < found.length; n++) {
      found[n] = place;
      for (let i = shape.length - 1; i >= 0; i--) {
        place += steps[i];
        if (++index[i] < shape[i]) break;
        place -= steps[i] * shape[i];
        index[i] = 0;
      }
    }
    return found;
  }

  function broadcast(value, shape) {
    const lead = shape.length - value.shape.length;
    const own = strides(value.shape);
    return places(shape, shape.map((_, i) => (i < lead || value.shape[i - lead] === 1 ? 0 : own[i - lead])));
  }

  function map(out, fn, ...values) {
    const same = values.every((v) => v.data.length === out.data.length);
    const reads = values.map((v) => (same ? null : broadcast(v, out.shape)));
    const [a, b, c] = values.map((v) => v.data);
    const [i, j, k] = reads;
    for (let n = 0; n < out.data.length; n++) {
      out.data[n] = fn(a[i ? i[n] : n], b && b[j ? j[n] : n], c && c[k ? k[n] : n]);
    }
    return out;
  }

  function picked(out, value, steps, start = 0) {
    const from = places(out.shape, steps, start);
    for (let n = 0; n < from.length; n++) out.data[n] = value.data[from[n]];
    return out;
  }

  const unary = (fn) => (out, x) => map(out, fn, x);
  const binary = (fn) => (out, x, y) => map(out, fn, isValue(x) ? x : scalar(x), isValue(y) ? y : scalar(y));
  const same = (out, x) => (out.data.set(x.data), out);
  const sign = (x) => (x > 0 ? 1 : x < 0 ? -1 : x);
  const modulo = (x, y) => x - y * Math.floor(x / y);
  const sigmoid = (x) => 1 / (1 + Math.exp(-x));

  function erf(x) { // by the series for small x and the continued fraction for large x
    const t = Math.abs(x);
    if (t < 2.5) {
      let term = t, sum = t;
      for (let n = 1; Math.abs(term) > 1e-17 * sum && n < 60; n++) {
        term *= (-t * t) / n;
        sum += term / (2 * n + 1);
      }
      return (Math.sign(x) * 2 * sum) / Math.sqrt(Math.PI);
    }
    let tail = 0;
    for (let n = 60; n > 0; n--) tail = n / 2 / (t + tail);
    return Math.sign(x) * (1 - Math.exp(-t * t) / (Math.sqrt(Math.PI) * (t + tail)));
  }

  // Calls fn(line, write) for each line of numbers along an axis.
  function lines(x, axis, fn) {
    const dim = at(axis, x.shape), length = x.shape[dim] ?? 1;
    const inner = sizeOf(x.shape.slice(dim + 1)), outer = x.data.length / (length * inner || 1);
    const line = new Float64Array(length);
    for (let o = 0; o < outer; o++) {
      for (let i = 0; i < inner; i++) {
        const start = o * length * inner + i;
        for (let n = 0; n < length; n++) line[n] = x.data[start + n * inner];
        fn(line, o * inner + i, start, inner);
      }
    }
  }

  function along(fn) { // an operation that returns as many numbers as a line has
    return (out, x, axis) => {
      lines(x, axis, (line, _, start, step) => fn(line).forEach((v, n) => (out.data[start + n * step] = v)));
      return out;
    };
  }

  const softmax = (line) => {
    const top = Math.max(...line);
    const powers = line.map((v) => Math.exp(v - top));
    const sum = powers.reduce((a, b) => a + b, 0);
    return powers.map((v) => v / sum);
  };

  // A reduction over some axes, or all: fn gets the numbers of one result.
  function reduce(fn) {
    return (out, x, axes) => {
      const list = axes === undefined || axes === null ? [] : [].concat(axes);
      const dims = new Set((list.length ? list : x.shape.map((_, i) => i)).map((d) => at(d, x.shape)));
      const kept = x.shape.map((_, i) => i).filter((i) => !dims.has(i));
      const order = [...kept, ...dims];
      const own = strides(x.shape);
      const from = places(order.map((i) => x.shape[i]), order.map((i) => own[i]));
      const count = from.length / (out.data.length || 1);
      const part = new Float64Array(count);
      for (let n = 0; n < out.data.length; n++) {
        for (let i = 0; i < count; i++) part[i] = x.data[from[n * count + i]];
        out.data[n] = fn(part);
      }
      return out;
    };
  }

  const total = (part) => part.reduce((a, b) => a + b, 0);
  const best = (better) => (part) => {
    let found = 0;
    for (let i = 1; i < part.length; i++) if (better(part[i], part[found])) found = i;
    return found;
  };

  function product(out, a, b, start) { // (batch, n, k) times (batch, k, m), added to start
    const [n, k] = a.shape.slice(-2), m = b.shape[b.shape.length - 1];
    const batches = out.data.length / (n * m || 1), row = new Float64Array(m);
    for (let t = 0; t < batches; t++) {
      for (let i = 0; i < n; i++) {
        const write = (t * n + i) * m;
        for (let j = 0; j < m; j++) row[j] = start ? start(write + j) : 0;
        for (let l = 0; l < k; l++) {
          const factor = a.data[(t * n + i) * k + l], read = (t * k + l) * m;
          if (factor !== 0) for (let j = 0; j < m; j++) row[j] += factor * b.data[read + j];
        }
        out.data.set(row, write);
      }
    }
    return out;
  }

  const added = (out, start, a, b) => {
    const from = broadcast(start, out.shape);
    return product(out, a, b, (n) => start.data[from[n]]);
  };

  function slice(out, x, axis = 0, first = 0, last = null, step = 1) {
    const dim = at(axis, x.shape), own = strides(x.shape);
    const begin = Math.min(first < 0 ? Math.max(first + x.shape[dim], 0) : first, x.shape[dim]);
    return picked(out, x, own.map((s, i) => (i === dim ? s * step : s)), begin * own[dim]);
  }

  function put(out, x, source, axis = 0, first = 0, last = null, step = 1) { // slice_scatter
    out.data.set(x.data);
    const dim = at(axis, x.shape), own = strides(x.shape);
    const begin = first === null ? 0 : first < 0 ? first + x.shape[dim] : first;
    const to = places(source.shape, own.map((s, i) => (i === dim ? s * step : s)), begin * own[dim]);
    for (let n = 0; n < to.length; n++) out.data[to[n]] = source.data[n];
    return out;
  }

  function select(out, x, axis, index) {
    const dim = at(axis, x.shape), own = strides(x.shape);
    const place = index < 0 ? index + x.shape[dim] : index;
    return picked(out, x, own.filter((_, i) => i !== dim), place * own[dim]);
  }

  function putOne(out, x, source, axis, index) { // select_scatter
    out.data.set(x.data);
    const dim = at(axis, x.shape), own = strides(x.shape);
    const place = index < 0 ? index + x.shape[dim] : index;
    const to = places(source.shape, own.filter((_, i) => i !== dim), place * own[dim]);
    for (let n = 0; n < to.length; n++) out.data[to[n]] = source.data[n];
    return out;
  }

  function parts(outs, x, sizes, axis = 0) {
    let first = 0;
    return outs.map((out) => {
      const part = slice(out, x, axis, first);
      first += out.shape[at(axis, x.shape)];
      return part;
    });
  }

  function cat(out, values, axis = 0) {
    const dim = at(axis, out.shape), inner = sizeOf(out.shape.slice(dim + 1));
    const whole = out.shape[dim] * inner, outer = out.data.length / (whole || 1);
    let start = 0;
    for (const v of values.filter((one) => one.data.length)) {
      const width = v.shape[dim] * inner;
      for (let o = 0; o < outer; o++) {
        out.data.set(v.data.subarray(o * width, (o + 1) * width), o * whole + start);
      }
      start += width;
    }
    return out;
  }

  function index(out, x, ids) { // x[ids[0], ids[1], ...]; an id may be missing
    const axes = ids.map((id, i) => (id ? i : -1)).filter((i) => i >= 0);
    const shape = out.shape, own = strides(x.shape);
    const common = ids.filter(Boolean).reduce((a, v) => (v.shape.length > a.length ? v.shape : a), []);
    const together = axes.every((a, i) => i === 0 || a === axes[i - 1] + 1);
    const first = together ? axes[0] : 0;
    const rest = x.shape.map((_, i) => i).filter((i) => !axes.includes(i));
    const steps = shape.map((_, i) => {
      if (i >= first && i < first + common.length) return 0;
      return own[rest[i < first ? i : i - common.length]];
    });
    const from = places(shape, steps);
    for (const axis of axes) {
      const id = ids[axis], lead = common.length - id.shape.length, mine = strides(id.shape);
      const read = places(shape, shape.map((_, i) => {
        const j = i - first - lead;
        return i < first || i >= first + common.length || j < 0 || id.shape[j] === 1 ? 0 : mine[j];
      }));
      for (let n = 0; n < from.length; n++) {
        const place = id.data[read[n]];
        from[n] += (place < 0 ? place + x.shape[axis] : place) * own[axis];
      }
    }
    for (let n = 0; n < from.length; n++) out.data[n] = x.data[from[n]];
    return out;
  }

  function gather(out, x, axis, ids) {
    const dim = at(axis, x.shape), own = strides(x.shape);
    const from = places(ids.shape, own.map((s, i) => (i === dim ? 0 : s)));
    for (let n = 0; n < from.length; n++) out.data[n] = x.data[from[n] + ids.data[n] * own[dim]];
    return out;
  }

  function scatter(out, x, axis, ids, source) {
    out.data.set(x.data);
    const dim = at(axis, x.shape), own = strides(x.shape);
    const to = places(ids.shape, own.map((s, i) => (i === dim ? 0 : s)));
    const from = isValue(source) ? places(ids.shape, strides(source.shape)) : null;
    for (let n = 0; n < to.length; n++) {
      out.data[to[n] + ids.data[n] * own[dim]] = from ? source.data[from[n]] : source;
    }
    return out;
  }

  function sorted(outs, x, axis, descending) {
    lines(x, axis, (line, _, start, step) => {
      const order = [...line.keys()].sort((a, b) => (descending ? line[b] - line[a] : line[a] - line[b]) || a - b);
      const dim = at(axis, x.shape), kept = outs[0].shape[dim] ?? 1;
      const begin = Math.floor(start / (line.length * step)) * kept * step + (start % step);
      for (let n = 0; n < kept; n++) {
        outs[0].data[begin + n * step] = line[order[n]];
        outs[1].data[begin + n * step] = order[n];
      }
    });
    return outs;
  }

  function normalized(outs, x, shape, weight, bias, eps) { // native_layer_norm
    const width = sizeOf(shape);
    for (let start = 0; start < x.data.length; start += width) {
      const row = x.data.subarray(start, start + width);
      const mean = total(row) / width;
      const scale = 1 / Math.sqrt(total(row.map((v) => (v - mean) ** 2)) / width + eps);
      for (let i = 0; i < width; i++) {
        outs[0].data[start + i] = (row[i] - mean) * scale * (weight ? weight.data[i] : 1) + (bias ? bias.data[i] : 0);
      }
    }
    return outs;
  }

  function padded(out, x, pad, value = 0) {
    out.data.fill(value);
    const own = strides(out.shape), last = out.shape.length - 1;
    const before = out.shape.map((_, i) => pad[2 * (last - i)] ?? 0);
    const to = places(x.shape, own, before.reduce((sum, n, i) => sum + n * own[i], 0));
    for (let n = 0; n < to.length; n++) out.data[to[n]] = x.data[n];
    return out;
  }

  const filled = (out, value) => (out.data.fill(isValue(value) ? value.data[0] : value), out);
  const compare = (fn) => binary((x, y) => (fn(x, y) ? 1 : 0));
  const scaled = (fn) => function (out, x, y, factor = this.alpha ?? 1) {
    return binary((a, b) => fn(a, factor * b))(out, x, y);
  };
  const expand = (out, x) => map(out, (v) => v, x);
  const permute = (out, x, axes) => picked(out, x, axes.map((d) => strides(x.shape)[at(d, x.shape)]));
  // X A = B for X, A triangular with ones on its diagonal and 0 above it: for each row of B from the end.
  const solved = (out, A, B) => {
    const n = A.shape.at(-1), rows = B.data.length / n, each = B.shape.at(-2);
    for (let row = 0; row < rows; row += 1) {
      const matrix = Math.floor(row / each) * n * n;
      for (let j = n - 1; j >= 0; j -= 1) {
        let rest = B.data[row * n + j];
        for (let i = j + 1; i < n; i += 1) rest -= out.data[row * n + i] * A.data[matrix + i * n + j];
        out.data[row * n + j] = rest;
      }
    }
    return out;
  };
  const rounded = { floor: Math.floor, trunc: Math.trunc };

  const OPERATIONS = {
    "abs": unary(Math.abs), "neg": unary((x) => -x), "exp": unary(Math.exp), "log": unary(Math.log),
    "expm1": unary(Math.expm1), "log1p": unary(Math.log1p), "log2": unary(Math.log2),
    "sin": unary(Math.sin), "cos": unary(Math.cos), "tan": unary(Math.tan), "atan": unary(Math.atan),
    "tanh": unary(Math.tanh), "sigmoid": unary(sigmoid), "relu": unary((x) => (x > 0 ? x : x !== x ? x : 0)),
    "sqrt": unary(Math.sqrt), "rsqrt": unary((x) => 1 / Math.sqrt(x)), "reciprocal": unary((x) => 1 / x),
    "sign": unary(sign), "floor": unary(Math.floor), "ceil": unary(Math.ceil), "round": unary((x) => Math.round(x)),
    "erf": unary(erf), "gelu": unary((x) => 0.5 * x * (1 + erf(x / Math.SQRT2))),
    "isnan": unary((x) => (x !== x ? 1 : 0)), "isinf": unary((x) => (Math.abs(x) === Infinity ? 1 : 0)),
    "bitwise_not": unary((x) => (x ? 0 : 1)), "logical_not": unary((x) => (x ? 0 : 1)),
    "elu": (out, x, alpha = 1) => map(out, (v) => (v > 0 ? v : alpha * Math.expm1(v)), x),
    "leaky_relu": (out, x, slope = 0.01) => map(out, (v) => (v > 0 ? v : slope * v), x),
    "add.Tensor": scaled((x, y) => x + y), "sub.Tensor": scaled((x, y) => x - y),
    "add.Scalar": scaled((x, y) => x + y), "sub.Scalar": scaled((x, y) => x - y),
    "rsub.Scalar": scaled((x, y) => y - x),
    "mul.Tensor": binary((x, y) => x * y), "mul.Scalar": binary((x, y) => x * y),
    "div.Tensor": binary((x, y) => x / y), "div.Scalar": binary((x, y) => x / y),
    "div.Tensor_mode"(out, x, y) {
      return binary((a, b) => (rounded[this.rounding_mode] ?? Number)(a / b))(out, x, y);
    },
    "floor_divide": binary((x, y) => Math.floor(x / y)),
    "pow.Tensor_Scalar": binary(Math.pow), "pow.Tensor_Tensor": binary(Math.pow), "pow.Scalar": binary(Math.pow),
    "atan2": binary(Math.atan2), "maximum": binary((x, y) => (x !== x || x > y ? x : y)),
    "minimum": binary((x, y) => (x !== x || x < y ? x : y)),
    "fmod.Scalar": binary((x, y) => x % y), "fmod.Tensor": binary((x, y) => x % y),
    "remainder.Scalar": binary(modulo), "remainder.Tensor": binary(modulo),
    "eq.Scalar": compare((x, y) => x === y), "eq.Tensor": compare((x, y) => x === y),
    "ne.Scalar": compare((x, y) => x !== y), "ne.Tensor": compare((x, y) => x !== y),
    "lt.Scalar": compare((x, y) => x < y), "lt.Tensor": compare((x, y) => x < y),
    "le.Scalar": compare((x, y) => x <= y), "le.Tensor": compare((x, y) => x <= y),
    "gt.Scalar": compare((x, y) => x > y), "gt.Tensor": compare((x, y) => x > y),
    "ge.Scalar": compare((x, y) => x >= y), "ge.Tensor": compare((x, y) => x >= y),
    "bitwise_and.Tensor": binary((x, y) => x & y), "bitwise_or.Tensor": binary((x, y) => x | y),
    "bitwise_xor.Tensor": binary((x, y) => x ^ y),
    "logical_and": compare((x, y) => x && y), "logical_or": compare((x, y) => x || y),
    "where.self": (out, c, x, y) => map(out, (t, a, b) => (t ? a : b), c, x, y),
    "clamp": (out, x, low = null, high = null) =>
      map(out, (v) => (low !== null && v < low ? low : high !== null && v > high ? high : v), x),
    "clamp.Tensor": (out, x, low = null, high = null) =>
      map(out, (v, a, b) => Math.min(Math.max(v, a), b), x, low ?? scalar(-Infinity), high ?? scalar(Infinity)),
    "masked_fill.Scalar": (out, x, hidden, value) => map(out, (v, h) => (h ? value : v), x, hidden),
    "clone": same, "view": same, "view_copy": same, "_unsafe_view": same, "alias": same, "detach": same,
    "detach_copy": same, "lift_fresh_copy": same, "alias_copy": same, "contiguous": same, "_to_copy": same,
    "unsqueeze": same, "unsqueeze_copy": same, "squeeze.dims": same, "squeeze.dim": same, "squeeze": same,
    "squeeze_copy.dim": same, "squeeze_copy.dims": same, "reshape": same,
    "copy": (out, _, source) => expand(out, source),
    "expand": expand, "expand_copy": expand, "permute": permute, "permute_copy": permute,
    "repeat": (out, x, times) => {
      const lead = times.length - x.shape.length, own = strides(x.shape), to = strides(out.shape);
      for (let n = 0; n < out.data.length; n++) {
        let place = 0;
        own.forEach((step, i) => (place += (Math.floor(n / to[i + lead]) % x.shape[i]) * step));
        out.data[n] = x.data[place];
      }
      return out;
    },
    "flip": (out, x, axes) => {
      const own = strides(x.shape), dims = axes.map((d) => at(d, x.shape));
      const start = dims.reduce((sum, d) => sum + (x.shape[d] - 1) * own[d], 0);
      return picked(out, x, own.map((s, i) => (dims.includes(i) ? -s : s)), start);
    },
    "cat": cat, "slice.Tensor": slice, "slice_copy.Tensor": slice, "select.int": select, "select_copy.int": select,
    "slice_scatter": put, "select_scatter": putOne,
    "unbind_copy.int": (outs, x, axis = 0) => outs.map((out, i) => select(out, x, axis, i)),
    "unbind.int": (outs, x, axis = 0) => outs.map((out, i) => select(out, x, axis, i)),
    "split_copy.Tensor": parts, "split.Tensor": parts, "split_with_sizes": parts, "split_with_sizes_copy": parts,
    "getitem": (_, values, i) => values[i],
    "index.Tensor": index, "gather": gather, "scatter.src": scatter, "scatter.value": scatter,
    "index_select": (out, x, axis, ids) => index(out, x, [...new Array(at(axis, x.shape)).fill(null), ids]),
    "embedding": (out, table, ids) => index(out, table, [ids]),
    "constant_pad_nd": padded,
    "sum.dim_IntList": reduce(total), "sum": reduce(total), "mean.dim": reduce((p) => total(p) / p.length),
    "mean": reduce((p) => total(p) / p.length), "prod": reduce((p) => p.reduce((a, b) => a * b, 1)),
    "prod.dim_int": reduce((p) => p.reduce((a, b) => a * b, 1)),
    "amax": reduce((p) => Math.max(...p)), "amin": reduce((p) => Math.min(...p)),
    "any": reduce((p) => (p.some(Boolean) ? 1 : 0)), "any.dim": reduce((p) => (p.some(Boolean) ? 1 : 0)),
    "any.dims": reduce((p) => (p.some(Boolean) ? 1 : 0)),
    "argmax": reduce(best((a, b) => a > b)), "argmin": reduce(best((a, b) => a < b)),
    "max.dim": (outs, x, axis) => sorted(outs, x, axis, true), "min.dim": (outs, x, axis) => sorted(outs, x, axis, false),
    "sort": (outs, x, axis = -1, descending = false) => sorted(outs, x, axis, descending),
    "topk": (outs, x, k, axis = -1, largest = true) => sorted(outs, x, axis, largest),
    "cumsum": along((line) => line.map(((sum) => (v) => (sum += v))(0))),
    "_softmax": along(softmax), "_safe_softmax": along((line) => (Math.max(...line) === -Infinity ? line.map(() => 0) : softmax(line))),
    "_log_softmax": along((line) => {
      const top = Math.max(...line), rest = Math.log(line.reduce((sum, v) => sum + Math.exp(v - top), 0));
      return line.map((v) => v - top - rest);
    }),
    "mm": product, "bmm": product, "addmm": added, "baddbmm": added,
    "native_layer_norm": normalized,
    "linalg_solve_triangular"(out, A, B, upper) {
      if (upper || this.left || !this.unitriangular) throw new Error("a solve of another kind");
      return solved(out, A, B);
    },
    "arange.start_step": (out, first, last, step = 1) => (out.data.forEach((_, n) => (out.data[n] = first + n * step)), out),
    "full": (out, _, value) => filled(out, value), "full_like": (out, _, value) => filled(out, value),
    "scalar_tensor": filled, "zeros_like": (out) => out, "ones_like": (out) => filled(out, 1),
    "empty.memory_format": (out) => out, "empty_like": (out) => out, "new_empty": (out) => out,
    "attnexp.weights": same, "attnexp.scores": same,
  };

  function decoded(leaf) {
    const bytes = Uint8Array.from(atob(leaf.data), (c) => c.charCodeAt(0));
    if (leaf.kind !== "float") return ARRAYS[leaf.kind].from(new Int32Array(bytes.buffer));
    return Float32Array.from(new Uint16Array(bytes.buffer), (half) => {
      const sign = half & 0x8000 ? -1 : 1, exponent = (half >> 10) & 31, rest = half & 1023;
      if (exponent === 0) return sign * rest * 2 ** -24;
      if (exponent === 31) return rest ? NaN : sign * Infinity;
      return sign * (1 + rest / 1024) * 2 ** (exponent - 15);
    });
  }

  // A program with its last values. A value is computed again if something that it depends on was set.
  class Program {
    constructor(content) {
      this.content = content;
      this.leaves = content.leaves.length;
      this.values = content.leaves.map((leaf) =>
        leaf.data === undefined ? empty(leaf.shape, leaf.kind) : { shape: leaf.shape, kind: leaf.kind, data: decoded(leaf) });
      this.byName = new Map(content.leaves.map((leaf, i) => [leaf.name, i]));
      this.stale = new Uint8Array(this.leaves + content.nodes.length).fill(1);
      this.users = this.stale.length ? Array.from(this.stale, () => []) : [];
      content.nodes.forEach((node, i) => {
        const find = (x) => {
          if (Array.isArray(x)) x.forEach(find);
          else if (x && typeof x === "object" && "r" in x) this.users[x.r].push(this.leaves + i);
        };
        find(node[1]);
        find(Object.values(node[4] ?? {}));
      });
      this.rewrites = new Map();
    }

    has(name) {
      return this.byName.has(name);
    }

    get(name) {
      return this.values[this.byName.get(name)];
    }

    set(name, numbers) {
      const place = this.byName.get(name), value = this.values[place];
      if (numbers.length !== value.data.length) throw new RangeError(`${name} has ${value.data.length} numbers, got ${numbers.length}`);
      value.data = ARRAYS[value.kind].from(numbers);
      this.spoil(place);
    }

    // Replaces the weights at a site by those that rewrite(weights, valid, node) returns.
    rewrite(node, rewrite) {
      if (rewrite) this.rewrites.set(node, rewrite);
      else this.rewrites.delete(node);
      this.spoil(node);
    }

    spoil(place) {
      const waiting = [place];
      this.stale[place] = 1;
      while (waiting.length) {
        for (const user of this.users[waiting.pop()]) {
          if (!this.stale[user]) {
            this.stale[user] = 1;
            waiting.push(user);
          }
        }
      }
    }

    output(name) {
      this.run();
      return this.values[this.content.outputs[name]];
    }

    run() {
      const read = (x) => {
        if (Array.isArray(x)) return x.map(read);
        if (x === null || typeof x !== "object") return x;
        if ("r" in x) return this.values[x.r];
        return "f" in x ? { inf: Infinity, "-inf": -Infinity, nan: NaN }[x.f] : x;
      };
      this.content.nodes.forEach(([operation, args, shape, kind, named], i) => {
        const place = this.leaves + i;
        if (!this.stale[place]) return;
        const name = this.content.operations[operation];
        const several = Array.isArray(kind);
        const out = kind === null ? null : several ? kind.map((each, n) => empty(shape[n], each)) : empty(shape, kind);
        const given = read(args);
        const more = named ? Object.fromEntries(Object.entries(named).map(([key, x]) => [key, read(x)])) : {};
        let value = OPERATIONS[name].call(more, out, ...given);
        const rewrite = this.rewrites.get(place);
        if (rewrite) value = { ...value, data: ARRAYS.float.from(rewrite(value, given[1], place)) };
        this.values[place] = value;
        this.stale[place] = 0;
      });
      this.stale.fill(0);
    }
  }

  return { Program, OPERATIONS };
})();
if (typeof module !== "undefined") module.exports = Interpreter;
