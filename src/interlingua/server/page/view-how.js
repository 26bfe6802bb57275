// How it works: the sentence walked through the architecture with its own real numbers, and parts of it switched off.

import {h, choice, number, spoken, word} from "./dom.js";
import {state, set, switches} from "./state.js";
import {ask, isExported} from "./api.js";
import {View, mark} from "./view.js";
import {heat, strip} from "./heat.js";
import {average} from "./view-attention.js";
import {bars} from "./view-steps.js";
import {editWeight, switchPanel} from "./switches.js";

const KINDS = {encoder: "the encoder", cross: "the decoder, to the source", decoder: "the decoder, to itself"};

class How extends View {
  watches = ["m", "t", "target", "sw", "kind", "layer", "head", "row", "column", "ckpt"];
  needsText = true;

  build() {
    this.panel = h("div", {});
    return this.panel;
  }

  async ask(signal) {
    const about = await ask("about", {model: state.m}, {signal});
    const question = {model: state.m, text: state.t, target: state.target, switches: switches()};
    const layer = Math.min(state.layer ?? 1, about.architecture[state.kind === "encoder" ? "encoder_layers" : "decoder_layers"]);
    const head = state.head || 1;
    const plain = await ask("trace", {model: state.m, text: state.t}, {signal});
    const trace = await ask("trace", question, {signal});
    const goOn = mark(this.panel);
    this.panel.replaceChildren(switchPanel(about, trace.source_tokens));
    goOn?.();
    const rows = state.kind === "encoder" ? trace.source_tokens : trace.target_tokens;
    const row = Math.max(0, Math.min(state.row, rows.length - 1));
    let walk = null, off = "";
    try {
      walk = await ask("walk", {...question, kind: state.kind, layer, head}, {signal});
    } catch (error) {
      if (error.name === "AbortError" || (isExported && this.known)) throw error; // there is something to go back to
      off = error.message;
    }
    const step = about.checkpoints.length ? state.ckpt ?? about.checkpoints.at(-1) : null;
    const past = step === null ? null : await ask("checkpoint", {...question, target: question.target ?? plain.target, step}, {signal});
    return {about, trace, plain, walk, off, layer, head, row, past, step};
  }

  show({about, trace, plain, walk, off, layer, head, row, past, step}) {
    const most = about.architecture[state.kind === "encoder" ? "encoder_layers" : "decoder_layers"];
    const changed = Object.keys(switches()).length > 0;
    const select = (text, name, value, count) => h("label", {class: "field"}, h("span", {class: "label"}, text),
      h("select", {onchange: (event) => set({[name]: Number(event.target.value)})}, Array.from({length: count}, (_, n) => h("option", {value: n + 1, selected: n + 1 === value}, n + 1))));
    return [
      h("p", {class: "verdict"}, h("strong", {lang: spoken(trace.target_lang), dir: "auto"}, trace.target || "(nothing)"), changed && trace.target !== plain.target ? [" instead of ", h("span", {lang: spoken(trace.target_lang), dir: "auto"}, plain.target)] : changed ? " (the same as with all parts)" : ""),
      past ? this.emergence(about, past, step) : null,
      h("h2", {}, "The sentence, step by step"),
      h("div", {class: "controls"},
        choice("Which attention", "how-kind", Object.entries(KINDS), state.kind, (kind) => set({kind, row: 0, column: 0, layer: 1})),
        select("Layer", "layer", layer, most), select("Head", "head", head, about.architecture.heads)),
      walk ? this.walk(about, trace, walk, row) : h("p", {class: "note"}, off),
    ];
  }

  emergence(about, past, step) {
    const steps = about.checkpoints, maps = past.trace.attention.filter((map) => map.kind === "cross");
    const slider = h("input", {type: "range", min: 0, max: steps.length - 1, value: steps.indexOf(step), "aria-label": "Checkpoint", "aria-valuetext": `step ${step}`,
      onchange: (event) => set({ckpt: steps[Number(event.target.value)]})});
    return h("section", {}, h("h2", {}, "How attention emerged"),
      h("p", {class: "controls"}, h("label", {class: "field"}, h("span", {class: "label"}, `Checkpoint at step ${step.toLocaleString("en")}`), slider)),
      h("p", {}, "Then it translated: ", h("strong", {lang: spoken(past.trace.target_lang), dir: "auto"}, past.own || "(nothing)")),
      maps.length ? heat({rows: past.trace.target_tokens.map((token) => word(token.text)), columns: past.trace.source_tokens.map((token) => word(token.text)),
        values: average(maps.at(-1).weights), name: `Attention to the source at step ${step}, last layer, the mean of its heads`, cell: 22}) : null);
  }

  walk(about, trace, walk, row) {
    const {head: own} = walk, around = own.around[row], source = trace.source_tokens;
    const side = own.kind === "encoder" ? walk.source : walk.target;
    const rows = own.kind === "encoder" ? source : walk.target_inputs;
    const columns = own.kind === "decoder" ? walk.target_inputs : source;
    const names = {rows: rows.map((token) => word(token.text)), columns: columns.map((token) => word(token.text))};
    const column = Math.max(0, Math.min(state.column, columns.length - 1));
    const pick = (r, c) => set({row: r, column: c});
    const map = (values, name, more = {}) => heat({...names, values, name, chosen: [row, column], pick, cell: 30, digits: 2, ...more});
    const part = (title, formula, ...content) => h("section", {class: "part"}, h("h3", {}, title), formula ? h("p", {class: "formula"}, formula) : null, content);
    const limit = Math.max(1e-9, ...own.products.flat().map(Math.abs));
    const root = Math.sqrt(own.d_k), isUnscaled = Boolean(state.sw.scaling_off);
    const isHidden = own.may_look.some((line) => line.includes(false));
    const mask = own.kind === "decoder"
      ? isHidden ? "The look-ahead mask hides what is not yet written: position i sees 1 to i." : "The look-ahead mask is switched off: every position sees all that is written."
      : isHidden ? "The words of the source that are switched off are hidden." : "Every word of the source may be seen; only padding is hidden, and there is none here.";
    const edit = (state.sw.edited ?? []).find((each) => each.kind === own.kind && each.layer === own.layer && each.head === own.head && each.row === row && each.column === column);
    const weight = h("input", {type: "number", disabled: isExported, min: 0, max: 1, step: 0.05, value: edit ? edit.weight : Number(own.weights[row][column].toFixed(2))});
    const aboutWeight = h("output", {class: "quiet", "aria-live": "polite"}, this.toldOfWeight);
    this.toldOfWeight = "";
    const use = () => {
      const written = weight.valueAsNumber, used = Math.min(1, Math.max(0, written));
      if (Number.isNaN(written)) {
        aboutWeight.textContent = "Write a number from 0 to 1.";
        return;
      }
      weight.value = used;
      aboutWeight.textContent = used === written ? "" : `A weight is 0 to 1, so ${used} is used.`;
      if (edit?.weight !== used) this.toldOfWeight = aboutWeight.textContent; // the field is made anew with what it changes
      editWeight({kind: own.kind, layer: own.layer, head: own.head, row, column, weight: used});
    };
    const place = Math.min(row, walk.steps.length - 1);
    return h("div", {class: "walk"},
      part("1  Tokens", "", h("p", {}, "The text is cut into pieces of a vocabulary, and each is a number:"),
        h("p", {class: "row", dir: "auto"}, source.map((token) => h("span", {class: "chip still"}, word(token.text), h("small", {}, ` ${token.id}`))))),
      part("2  Embeddings and positions", "x = E[id] · √d_model + PE(position)",
        h("p", {}, `Each token has a row of ${about.architecture.d_model} learnt numbers, multiplied by √${about.architecture.d_model} = ${number(side.scale)}; its position adds its own.`),
        h("div", {class: "strips"}, [["embeddings × √d", side.embeddings], ["positions", side.positions], ["their sum", side.sums]].map(([name, values]) => h("div", {}, h("p", {class: "quiet"}, name), strip(values, name)))),
        h("p", {class: "numbers"}, `“${names.rows[row]}”: `, side.embeddings[row].slice(0, 6).map((value, n) => h("span", {}, `${number(value)} + ${number(side.positions[row][n])} = ${number(side.sums[row][n])}`)), " …")),
      part("3  Query, key, value", "q = x·W_Q + b,  k = m·W_K + b,  v = m·W_V + b",
        h("p", {}, `Head ${own.head} asks with queries of ${own.d_k} numbers, one a row, and is answered by the keys and values of what it looks at.`),
        h("div", {class: "strips"}, [["queries", own.query], ["keys", own.key], ["values", own.value]].map(([name, values]) => h("div", {}, h("p", {class: "quiet"}, name), strip(values, name)))),
        this.projection(own, names, row)),
      part("4  Scores", "score = q · k",
        h("p", {}, "Each query is compared with each key. Press a cell: its row and column are what the next steps show."),
        map(own.products, "Scores before scaling", {signed: true, most: limit}),
        this.multiplication(own, names, row, column)),
      part("5  Scaling and mask", "score / √d_k; what may not be seen is −∞",
        h("p", {}, `${number(own.products[row][column])} / √${own.d_k} = ${number(own.products[row][column] / root)}. `, isUnscaled ? "The scaling is switched off: the model leaves the scores as they are. " : "", mask),
        isHidden ? map(own.may_look.map((line) => line.map(Number)), "The mask: dark may be seen", {digits: 0}) : null),
      part("6  Softmax", "weight = exp(score) / Σ exp(score)",
        h("p", {}, `The weights of “${names.rows[row]}”, with scaling and without: large scores make the softmax hard, and its gradient vanishes. That is why the paper divides by √d_k.`),
        h("div", {class: "beside"}, h("section", {}, h("h4", {}, "with scaling"), map(isUnscaled ? own.with_scaling : own.weights, "Weights with scaling")), h("section", {}, h("h4", {}, "without"), map(isUnscaled ? own.weights : own.without_scaling, "Weights without scaling"))),
        h("p", {class: "row"}, h("label", {class: "field"}, h("span", {class: "label"}, `Edit the weight of “${names.rows[row]}” → “${names.columns[column]}”`), weight),
          h("button", {type: "button", disabled: isExported, onclick: use}, "Use it"),
          edit ? h("button", {type: "button", disabled: isExported, onclick: () => editWeight({...edit, weight: null})}, "Take it back") : null, aboutWeight)),
      part("7  The values, weighed", "head = Σ weight · v",
        h("p", {class: "numbers"}, own.weights[row].map((value, c) => h("span", {}, `${number(value)} · v(${names.columns[c]})`)).flatMap((each, n) => n ? [" + ", each] : [each])),
        strip([own.gathered[row]], "What the head gathered", {height: 14})),
      part("8  Residual and norm", around.pre ? "x + Sublayer(LayerNorm(x))" : "LayerNorm(x + Sublayer(x))",
        h("div", {class: "strips"}, [["x, what came in", around.x], ["what all heads add", around.sublayer], ["their sum", around.sum], ["what goes on", around.out]].map(([name, values]) => h("div", {}, h("p", {class: "quiet"}, name), strip([values], name, {height: 14})))),
        h("p", {class: "numbers"}, `The mean of ${around.pre ? "what came in" : "the sum"} over its ${around.x.length} numbers is ${number(around.mean, 3)}, its deviation ${number(around.deviation, 3)}. `,
          `First number: ${number(around.x[0], 3)} + ${number(around.sublayer[0], 3)} = ${number(around.sum[0], 3)}`,
          around.pre ? "." : ` → (${number(around.sum[0], 3)} − ${number(around.mean, 3)}) / ${number(around.deviation, 3)} = ${number((around.sum[0] - around.mean) / around.deviation, 3)}, then the learnt gain and bias: ${number(around.out[0], 3)}.`)),
      part("9  The output distribution", "p = softmax(h·Eᵀ)",
        h("p", {}, `After the last decoder layer the vector is compared with every one of the ${about.target_vocabulary.toLocaleString("en")} entries of the vocabulary. At target position ${place + 1}:`),
        bars(walk.steps[place].guess, walk.steps[place].token.id)));
  }

  /** One number of a query, as the sum that it is. */
  projection(own, names, row) {
    const x = own.queries_in[row], w = own.w_query.map((line) => line[0]);
    const terms = x.map((value, n) => value * w[n]);
    return h("details", {}, h("summary", {}, `One number: q[1] of “${names.rows[row]}” = ${number(own.query[row][0], 3)}`),
      h("p", {class: "numbers"}, terms.slice(0, 12).map((term, n) => h("span", {}, `${number(x[n], 3)} · ${number(w[n], 3)} = ${number(term, 3)}`)),
        ` … ${terms.length} products, together ${number(terms.reduce((sum, term) => sum + term, 0), 3)}; with the bias ${number(own.b_query[0], 3)}: ${number(own.query[row][0], 3)}`));
  }

  /** One score, as the sum that it is. */
  multiplication(own, names, row, column) {
    const q = own.query[row], k = own.key[column];
    return h("details", {open: true}, h("summary", {}, `One score: “${names.rows[row]}” · “${names.columns[column]}” = ${number(own.products[row][column], 3)}`),
      h("p", {class: "numbers"}, q.map((value, n) => h("span", {}, `${number(value)} × ${number(k[n])} = ${number(value * k[n], 3)}`)),
        ` together ${number(q.reduce((sum, value, n) => sum + value * k[n], 0), 3)}`));
  }
}

customElements.define("look-how", How);
