// Who looks at whom: every layer and head of the three attentions, in subwords or words.

import {h, choice, number, spoken, word} from "./dom.js";
import {state, set, switches} from "./state.js";
import {ask} from "./api.js";
import {View} from "./view.js";
import {heat, thumbnail} from "./heat.js";
import {byWords, label, wordsOf} from "./tokens.js";

const KINDS = {cross: "Target to source", encoder: "Within the source", decoder: "Within the target"};

/** The labels of both axes of one kind of attention. */
export function axes(trace, kind) {
  const source = trace.source_tokens, target = trace.target_tokens;
  if (kind === "encoder") return {rows: source, columns: source, rowText: trace.source, columnText: trace.source};
  if (kind === "cross") return {rows: target, columns: source, rowText: trace.target, columnText: trace.source};
  return {rows: target, columns: [trace.begin, ...target.slice(0, -1)], rowText: trace.target, columnText: trace.target};
}

/** The mean of all heads of one layer. */
export function average(heads) {
  return heads[0].map((line, r) => line.map((_, c) => heads.reduce((sum, head) => sum + head[r][c], 0) / heads.length));
}

class Attention extends View {
  watches = ["m", "t", "target", "sw", "kind", "layer", "head", "words", "slope"];
  needsText = true;

  async ask(signal) {
    const question = {model: state.m, text: state.t, target: state.target, switches: switches()};
    const [trace, best, slope] = await Promise.all([
      ask("trace", question, {signal}),
      ask("best-view", {model: state.m}, {signal}),
      state.slope && state.kind === "cross" ? ask("saliency", question, {signal}) : null,
    ]);
    return {trace, best, slope};
  }

  show({trace, best, slope}) {
    const maps = trace.attention.filter((map) => map.kind === state.kind);
    if (!maps.length) return h("p", {}, "Nothing of this kind is left: its layers are switched off.");
    const map = maps.find((each) => each.layer === state.layer) ?? maps.find((each) => state.kind === "cross" && best && each.layer === best.layer) ?? maps.at(-1);
    const isBest = (layer, head) => state.kind === "cross" && best && best.layer === layer && (best.head ?? 0) === head; // no head: the mean of all
    const head = state.head ?? (state.kind === "cross" && best && best.layer === map.layer && best.head ? best.head : 0);
    const values = head && map.weights[head - 1] ? map.weights[head - 1] : average(map.weights);
    const name = head ? `layer ${map.layer}, head ${head}` : `layer ${map.layer}, the mean of its heads`;
    const told = best ? [`Layer ${best.layer}, ${best.head ? `head ${best.head}` : "the mean of its heads"}`,
      ` aligns best: it links words that belong together more than any other, over ${best.sentences} sentence pairs`,
      best.step === "reading" ? " (one step after the word is written, as the decoder reads it)." : "."] : null;
    return [
      h("h2", {class: "hidden"}, "Attention"),
      h("p", {}, h("span", {lang: spoken(trace.source_lang), dir: "auto"}, trace.source), " → ", h("strong", {lang: spoken(trace.target_lang), dir: "auto"}, trace.target)),
      h("div", {class: "controls"},
        choice("Which attention", "kind", Object.entries(KINDS), state.kind, (kind) => set({kind, layer: null, head: null})),
        h("label", {class: "field"}, h("span", {class: "label"}, `Layer ${map.layer} of ${maps.at(-1).layer}`),
          h("input", {type: "range", min: maps[0].layer, max: maps.at(-1).layer, value: map.layer, "aria-label": "Layer", onchange: (event) => set({layer: Number(event.target.value)})})),
        choice("Seen as", "words", [[false, "subwords"], [true, "words"]], state.words, (words) => set({words})),
        state.kind === "cross" ? h("label", {class: "check"}, h("input", {type: "checkbox", checked: state.slope, onchange: (event) => set({slope: event.target.checked})}), " Gradient × input beside it") : null),
      h("div", {class: "heads", role: "group", "aria-label": "Heads"},
        [["mean", average(map.weights), 0], ...map.weights.map((each, place) => [`head ${place + 1}`, each, place + 1])].map(([text, each, place]) =>
          h("button", {type: "button", class: "head", "aria-pressed": String(place === head), onclick: () => set({head: place, layer: map.layer})},
            thumbnail(each, 1, 76), h("span", {}, text, isBest(map.layer, place) ? " ★" : "")))),
      told && state.kind === "cross" ? h("p", {class: "quiet"}, "★ ", told) : null,
      h("div", {class: "beside"},
        this.picture(trace, values, `Attention, ${KINDS[state.kind].toLowerCase()}: ${name}`, name),
        slope ? this.picture(trace, slope.gradient_times_input, "Gradient times input", "gradient × input", true) : null),
      h("p", {class: "note"}, "Each row sums to 1: it shows where the model looked while it wrote the word on the left. ",
        "Attention is not an explanation: a word can be looked at without deciding anything. ",
        "Gradient × input shows instead what a small change of a source word would do to the probability of the word on the left",
        slope ? ": blue would make it likelier, orange less likely." : "."),
    ];
  }

  picture(trace, values, name, caption, signed = false) {
    const {rows, columns, rowText, columnText} = axes(trace, state.kind);
    let labels = [rows.map((token) => word(token.text)), columns.map((token) => word(token.text))];
    let shown = values;
    if (state.words) {
      const begun = state.kind === "decoder" ? 1 : 0; // the begin symbol is a column of its own
      const groups = [wordsOf(rowText, rows),
        [...begun ? [[0]] : [], ...wordsOf(columnText, columns.slice(begun)).map((group) => group.map((place) => place + begun))]];
      labels = [groups[0].map((group) => label(rowText, rows, group)), groups[1].map((group) => label(columnText, columns, group))];
      shown = byWords(values, ...groups);
    }
    const most = signed ? Math.max(1e-9, ...shown.flat().map(Math.abs)) : 1;
    return h("section", {}, h("h3", {}, caption), heat({rows: labels[0], columns: labels[1], values: shown, name, signed, most}),
      signed ? h("p", {class: "quiet"}, `darkest: ±${number(most)}`) : null);
  }
}

customElements.define("look-attention", Attention);
