// The Transformer of "Attention Is All You Need" for one sentence at a time, on typed arrays.
//
// A matrix (O, I) lies row by row, so that an output is the product of two stretches of memory. Sums are taken in
// double precision, which costs nothing here. What the decoder has seen is kept: one vector a token and layer.

class Model {
  // architecture: config.json of the model folder; tensors: name -> Float32Array
  constructor(architecture, tensors) {
    this.a = architecture;
    this.tensors = tensors;
    this.scale = Math.sqrt(architecture.d_model);
    this.sourcePositions = this.positions("source");
    this.targetPositions = this.positions("target");
    this.outputTable =
      architecture.tie === "none" ? tensors["output.weight"] : tensors["target_embedding.table.weight"];
    this.targetTable = tensors["target_embedding.table.weight"];
    this.sourceTable =
      architecture.tie === "three-way" ? this.targetTable : tensors["source_embedding.table.weight"];
  }

  // ids (S) -> what the decoder looks at: keys and values of each of its layers
  encode(ids) {
    const { encoder_layers, decoder_layers } = this.a;
    let x = this.embed(ids, this.sourceTable, this.sourcePositions, 0);
    const rows = ids.length;
    for (let n = 0; n < encoder_layers; n++) {
      const path = `encoder.layers.${n}`;
      x = this.around(x, `${path}.around_attention`, (y) => {
        const seen = this.keysAndValues(y, rows, `${path}.self_attention`);
        return this.attend(y, rows, seen, `${path}.self_attention`).output;
      });
      x = this.around(x, `${path}.around_feed_forward`, (y) => this.feedForward(y, rows, `${path}.feed_forward`));
    }
    x = this.finalNorm(x, "encoder");
    const layers = [];
    for (let n = 0; n < decoder_layers; n++) {
      layers.push(this.keysAndValues(x, rows, `decoder.layers.${n}.cross_attention`));
    }
    return { rows, layers };
  }

  // Nothing written yet.
  start() {
    return { position: 0, layers: Array.from({ length: this.a.decoder_layers }, () => ({ keys: [], values: [] })) };
  }

  // One more token: the logits of the next, the new state, and where each layer looked (mean of its heads).
  step(id, state, memory) {
    let x = this.embed([id], this.targetTable, this.targetPositions, state.position);
    const layers = [];
    const looked = [];
    state.layers.forEach((past, n) => {
      const path = `decoder.layers.${n}`;
      x = this.around(x, `${path}.around_self`, (y) => {
        const now = this.keysAndValues(y, 1, `${path}.self_attention`);
        const seen = { keys: [...past.keys, ...now.keys], values: [...past.values, ...now.values] };
        layers.push(seen);
        return this.attend(y, 1, seen, `${path}.self_attention`).output;
      });
      x = this.around(x, `${path}.around_cross`, (y) => {
        const found = this.attend(y, 1, memory.layers[n], `${path}.cross_attention`);
        looked.push(found.weights);
        return found.output;
      });
      x = this.around(x, `${path}.around_feed_forward`, (y) => this.feedForward(y, 1, `${path}.feed_forward`));
    });
    x = this.finalNorm(x, "decoder");
    const logits = product(x, 1, this.outputTable, this.tensors["output.bias"] ?? null);
    return { logits, state: { position: state.position + 1, layers }, looked };
  }

  embed(ids, table, positions, start) {
    const d = this.a.d_model;
    if (start + ids.length > this.a.max_positions) throw new RangeError("more tokens than the model has positions");
    const x = new Float32Array(ids.length * d);
    ids.forEach((id, row) => {
      for (let i = 0; i < d; i++) x[row * d + i] = table[id * d + i] * this.scale + positions[(start + row) * d + i];
    });
    return x;
  }

  positions(side) {
    const { d_model, max_positions, positions } = this.a;
    if (positions === "learned") return this.tensors[`${side}_embedding.positions.table`];
    const table = new Float32Array(max_positions * d_model);
    for (let place = 0; place < max_positions; place++) {
      for (let i = 0; i < d_model; i += 2) {
        const angle = place * 10000 ** (-i / d_model);
        table[place * d_model + i] = Math.sin(angle);
        table[place * d_model + i + 1] = Math.cos(angle);
      }
    }
    return table;
  }

  // LayerNorm(x + sublayer(x)), or x + sublayer(LayerNorm(x)) for a model of "pre" norm
  around(x, path, sublayer) {
    if (this.a.norm === "pre") return sum(x, sublayer(this.normalise(x, `${path}.norm`)));
    return this.normalise(sum(x, sublayer(x)), `${path}.norm`);
  }

  finalNorm(x, side) {
    return this.a.norm === "pre" ? this.normalise(x, `${side}.final_norm`) : x;
  }

  normalise(x, path) {
    const d = this.a.d_model;
    const [weight, bias] = [this.tensors[`${path}.weight`], this.tensors[`${path}.bias`]];
    const y = new Float32Array(x.length);
    for (let at = 0; at < x.length; at += d) {
      let mean = 0;
      for (let i = 0; i < d; i++) mean += x[at + i];
      mean /= d;
      let variance = 0;
      for (let i = 0; i < d; i++) variance += (x[at + i] - mean) ** 2;
      const root = Math.sqrt(variance / d + 1e-5);
      for (let i = 0; i < d; i++) y[at + i] = ((x[at + i] - mean) / root) * weight[i] + bias[i];
    }
    return y;
  }

  linear(x, rows, path) {
    return product(x, rows, this.tensors[`${path}.weight`], this.tensors[`${path}.bias`]);
  }

  keysAndValues(x, rows, path) {
    const cut = (y) => Array.from({ length: rows }, (_, row) => y.subarray((row * y.length) / rows, ((row + 1) * y.length) / rows));
    return { keys: cut(this.linear(x, rows, `${path}.key`)), values: cut(this.linear(x, rows, `${path}.value`)) };
  }

  // softmax(q k / sqrt(d_k)) v for every head (equation 1), then their joint projection
  attend(x, rows, seen, path) {
    const heads = this.a.heads;
    const query = this.linear(x, rows, `${path}.query`);
    const [width, valueWidth] = [query.length / rows / heads, seen.values[0].length / heads];
    const root = Math.sqrt(width);
    const joined = new Float32Array(rows * heads * valueWidth);
    const weights = new Float64Array(seen.keys.length); // of the last row, mean of the heads
    const scores = new Float64Array(seen.keys.length);
    for (let row = 0; row < rows; row++) {
      for (let head = 0; head < heads; head++) {
        const [from, at] = [row * heads * width + head * width, head * width];
        seen.keys.forEach((key, place) => {
          let score = 0;
          for (let i = 0; i < width; i++) score += query[from + i] * key[at + i];
          scores[place] = score / root;
        });
        softmax(scores);
        const out = row * heads * valueWidth + head * valueWidth;
        seen.values.forEach((value, place) => {
          const weight = scores[place];
          for (let i = 0; i < valueWidth; i++) joined[out + i] += weight * value[head * valueWidth + i];
          if (row === rows - 1) weights[place] += weight / heads;
        });
      }
    }
    return { output: this.linear(joined, rows, `${path}.output`), weights };
  }

  feedForward(x, rows, path) {
    const hidden = this.linear(x, rows, `${path}.inner`);
    const sigmoid = (y) => 1 / (1 + Math.exp(-y));
    const kind = this.a.activation;
    if (kind === "swiglu") {
      const gate = this.linear(x, rows, `${path}.gate`);
      for (let i = 0; i < hidden.length; i++) hidden[i] *= gate[i] * sigmoid(gate[i]);
    } else if (kind === "swish") {
      for (let i = 0; i < hidden.length; i++) hidden[i] *= sigmoid(hidden[i]);
    } else if (kind === "gelu") {
      for (let i = 0; i < hidden.length; i++) hidden[i] *= (1 + erf(hidden[i] / Math.SQRT2)) / 2;
    } else {
      for (let i = 0; i < hidden.length; i++) hidden[i] = Math.max(0, hidden[i]);
    }
    return this.linear(hidden, rows, `${path}.outer`);
  }
}

// x (rows, I) times a matrix (O, I), plus a bias (O) or nothing
function product(x, rows, matrix, bias) {
  const inner = x.length / rows;
  const outer = matrix.length / inner;
  const y = new Float32Array(rows * outer);
  for (let row = 0; row < rows; row++) {
    const from = row * inner;
    for (let o = 0; o < outer; o++) {
      const at = o * inner;
      let total = bias ? bias[o] : 0;
      for (let i = 0; i < inner; i++) total += x[from + i] * matrix[at + i];
      y[row * outer + o] = total;
    }
  }
  return y;
}

function sum(x, y) {
  const z = new Float32Array(x.length);
  for (let i = 0; i < x.length; i++) z[i] = x[i] + y[i];
  return z;
}

function softmax(scores) {
  let highest = -Infinity;
  for (const score of scores) highest = Math.max(highest, score);
  let total = 0;
  for (let i = 0; i < scores.length; i++) total += scores[i] = Math.exp(scores[i] - highest);
  for (let i = 0; i < scores.length; i++) scores[i] /= total;
}

// The error function by its series near 0 and by a continued fraction (Lentz) further out, to about 1e-15.
function erf(x) {
  const z = Math.abs(x);
  if (z > 6) return Math.sign(x);
  if (z < 2.5) {
    let [term, total] = [z, z];
    for (let n = 1; n < 60; n++) {
      term *= (-z * z) / n;
      total += term / (2 * n + 1);
    }
    return Math.sign(x) * (2 / Math.sqrt(Math.PI)) * total;
  }
  let fraction = 0;
  for (let n = 60; n > 0; n--) fraction = n / 2 / (z + fraction);
  return Math.sign(x) * (1 - Math.exp(-z * z) / Math.sqrt(Math.PI) / (z + fraction));
}

// The weights of the page: float32 as they are, float16, or int8 with a step for each row.
function readTensors(listed, bytes) {
  const tensors = {};
  for (const { name, dtype, rows, columns, offset, steps } of listed) {
    const size = rows * columns;
    if (dtype === "float32") {
      tensors[name] = new Float32Array(bytes.buffer.slice(offset, offset + 4 * size));
    } else if (dtype === "float16") {
      const halves = new Uint16Array(bytes.buffer.slice(offset, offset + 2 * size));
      tensors[name] = Float32Array.from(halves, fromHalf);
    } else {
      const codes = new Int8Array(bytes.buffer, offset, size);
      const scale = new Float32Array(bytes.buffer.slice(steps, steps + 4 * rows));
      tensors[name] = Float32Array.from(codes, (code, i) => code * scale[Math.floor(i / columns)]);
    }
  }
  return tensors;
}

function fromHalf(half) {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 31;
  const fraction = half & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
