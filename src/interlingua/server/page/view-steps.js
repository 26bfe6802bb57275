// Each step: what the model had in mind, how sure it was, and what each decoder layer would have said.

import {h, doubt, number, percent, word} from "./dom.js";
import {state, set, switches} from "./state.js";
import {ask, isExported} from "./api.js";
import {View} from "./view.js";
import {barsPicture} from "./pictures.js";

/** One distribution as bars. */
export function bars(guess, chosen) {
  return h("ul", {class: "bars"}, guess.candidates.map((candidate) => {
    const probability = Math.exp(candidate.log_probability);
    const bar = h("span", {class: "bar"});
    bar.style.width = `${Math.max(0.5, 100 * probability)}%`;
    return h("li", {class: candidate.id === chosen ? "chosen" : ""}, h("span", {class: "name"}, word(candidate.text)), h("span", {class: "track"}, bar), h("span", {class: "figure"}, percent(probability)));
  }));
}

class Steps extends View {
  watches = ["m", "t", "target", "sw", "place"];
  needsText = true;

  build() {
    this.given = h("input", {type: "text", dir: "auto", disabled: isExported, value: state.target ?? "", onchange: (event) => set({target: event.target.value.trim() || null, place: 0}, {remember: true})});
    return h("div", {class: "controls"}, h("label", {class: "field wide"}, h("span", {class: "label"}, "Look at another translation than the model's own (empty: its own)"), this.given));
  }

  refresh() {
    if (document.activeElement !== this.given) this.given.value = state.target ?? "";
  }

  ask(signal) {
    return ask("steps", {model: state.m, text: state.t, target: state.target, switches: switches()}, {signal});
  }

  /** The chosen step as a picture. */
  pictures() {
    if (!this.answer) return [];
    const {place, at} = chosen(this.answer.steps);
    const last = at.lens.at(-1).layer;
    return [barsPicture(at.lens.map((guess) => ({title: layerName(guess.layer, last), guess})), at.token.id, `Step ${place + 1}: “${word(at.token.text)}”`)];
  }

  show({steps}) {
    const {place, at} = chosen(steps);
    const layers = at.lens.map((guess) => guess.layer);
    return [
      h("h2", {}, "Step by step"),
      h("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Steps"}, h("table", {class: "steps"},
        h("caption", {}, "Each row is one token that was written; press it to see more"),
        h("thead", {}, h("tr", {}, ["Written", "Probability", "Rank", "Entropy, bits"].map((each) => h("th", {scope: "col"}, each)),
          layers.map((layer) => h("th", {scope: "col"}, layer ? `Layer ${layer} says` : "Before layer 1")))),
        h("tbody", {}, steps.map((step, number_) => h("tr", {class: number_ === place ? "best" : ""},
          h("th", {scope: "row"}, h("button", {type: "button", class: "plain", "aria-pressed": String(number_ === place), onclick: () => set({place: number_})}, word(step.token.text))),
          h("td", {}, percent(Math.exp(step.guess.log_probability))), h("td", {}, step.guess.rank), h("td", {}, number(step.guess.entropy)),
          step.lens.map((guess) => h("td", {class: `doubt-${doubt(Math.exp(guess.candidates[0].log_probability))}`}, word(guess.candidates[0].text)))))))),
      h("h3", {}, `Step ${place + 1}: “${word(at.token.text)}”`),
      h("div", {class: "lens"}, at.lens.map((guess) => h("section", {},
        h("h4", {}, layerName(guess.layer, layers.at(-1))),
        h("p", {class: "quiet"}, `Entropy ${number(guess.entropy)} bits; “${word(at.token.text)}” is in place ${guess.rank} with ${percent(Math.exp(guess.log_probability))}.`),
        bars(guess, at.token.id)))),
      h("p", {class: "note"}, "The logit lens reads the vectors between two layers as if they were the last: it shows when a word is decided. ",
        "Entropy is how unsure the model is: 0 bits is certainty, and every bit doubles the number of words that it wavers between."),
    ];
  }
}

/** The step that is looked at. */
function chosen(steps) {
  const place = Math.max(0, Math.min(state.place, steps.length - 1));
  return {place, at: steps[place]};
}

function layerName(layer, last) {
  if (layer === 0) return "Before layer 1";
  return layer === last ? `Layer ${layer}: the model itself` : `Layer ${layer}`;
}

customElements.define("look-steps", Steps);
