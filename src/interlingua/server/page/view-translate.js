// Two panes. Words are coloured by probability on demand, point at each other, and open their alternatives.

import {h, debounce, doubt, percent, spoken, word} from "./dom.js";
import {state, set, switches} from "./state.js";
import {ask, isExported} from "./api.js";
import {View} from "./view.js";
import {label, wordsOf} from "./tokens.js";

const REMEMBERED = 20;

class Translate extends View {
  watches = ["m", "t", "sw", "pin", "probs"];
  history = [];

  build() {
    const later = debounce((t) => set({t}), 180);
    this.input = h("textarea", {id: "source", rows: 5, value: state.t, maxlength: 2000, spellcheck: "false", "aria-describedby": "drop-hint",
      oninput: (event) => later(event.target.value), readonly: isExported});
    const file = h("input", {type: "file", id: "source-file", class: "hidden", accept: ".txt,text/plain", onchange: (event) => this.open(event.target.files[0])});
    this.input.addEventListener("dragover", (event) => event.preventDefault());
    this.input.addEventListener("drop", (event) => {
      if (event.dataTransfer.files.length) { event.preventDefault(); this.open(event.dataTransfer.files[0]); }
    });
    this.languages = [h("h2", {}), h("h2", {})];
    this.output = h("div", {class: "output", "aria-live": "polite"});
    this.aligned = h("div", {class: "aligned"});
    this.panel = h("div", {class: "alternatives", role: "region", "aria-label": "Alternatives", hidden: true});
    const probabilities = h("input", {type: "checkbox", checked: state.probs, onchange: (event) => set({probs: event.target.checked})});
    this.past = h("ol", {class: "past"});
    return [
      h("div", {class: "panes"},
        h("section", {}, this.languages[0], h("label", {for: "source", class: "hidden"}, "Text to translate"), this.input,
          h("p", {class: "row quiet", id: "drop-hint"}, "Write, paste, or drop a text file. ", file, h("label", {for: "source-file", class: "button"}, "Open a file"))),
        h("section", {}, this.languages[1], this.output,
          h("p", {class: "row"}, h("label", {class: "check"}, probabilities, " Colour words by probability"),
            h("button", {type: "button", onclick: () => this.copy()}, "Copy")))),
      this.panel, this.aligned,
      h("details", {}, h("summary", {}, "History"), this.past),
    ];
  }

  async open(file) {
    if (!file) return;
    const text = (await file.text()).slice(0, 2000);
    this.input.value = text;
    set({t: text}, {remember: true});
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(this.text ?? "");
      this.message.textContent = "Copied.";
    } catch {
      this.message.textContent = "The browser does not let this page copy; mark the text and copy it yourself.";
    }
  }

  refresh() {
    const model = this.models[state.m];
    this.languages[0].textContent = model.source_name;
    this.languages[1].textContent = model.target_name;
    this.input.lang = spoken(model.source_lang) ?? "en";
    this.output.lang = spoken(model.target_lang) ?? "en";
    if (document.activeElement !== this.input) this.input.value = state.t;
  }

  async ask(signal) {
    if (!state.t.trim()) return {text: "", parts: []};
    const question = {model: state.m, text: state.t, switches: switches()};
    if (!state.pin.length) return ask("translation", question, {signal});
    const tree = await ask("tree", {...question, edits: {pinned: state.pin}}, {signal});
    const target = tree.finished[0].text;
    return ask("translation", {...question, target}, {signal});
  }

  show(answer) {
    this.text = answer.text;
    this.remember(answer.text);
    this.panel.hidden = true;
    this.output.classList.toggle("coloured", state.probs);
    this.output.replaceChildren(...answer.parts.map((part) => this.part(part, answer.parts.length === 1)));
    const opened = answer.parts.filter((part) => part.source_tokens);
    this.aligned.replaceChildren(...opened.length ? [
      h("h3", {}, "Which word became which"),
      h("p", {class: "quiet"}, "Point at a word, or move to it with the Tab key: the words that it hangs together with are marked. ",
        "Press a word of the translation for other words in its place."),
      ...opened.map((part) => this.pair(part))] : []);
    return state.pin.length ? h("p", {class: "row"}, "The beginning is pinned. ",
      h("button", {type: "button", onclick: () => set({pin: []}, {remember: true})}, "Let the model choose again")) : null;
  }

  /** The translation as running text. */
  part(part, alone) {
    const pieces = [part.before];
    if (part.target_tokens) {
      for (const group of wordsOf(part.target, part.target_tokens)) {
        const tokens = group.map((place) => part.target_tokens[place]);
        if (tokens[0].start === tokens[0].end) continue;
        const text = part.target.slice(tokens[0].start, tokens.at(-1).end);
        const probability = Math.exp(Math.min(...group.map((place) => part.log_probabilities[place])));
        pieces.push(/^\s/.test(text) ? " " : "", h("span", {class: `word doubt-${doubt(probability)}`, title: `${text.trim()}: ${percent(probability)}`}, text.trim()));
      }
    } else {
      pieces.push(part.target ?? "");
    }
    pieces.push(part.after);
    return h("span", {class: alone ? "" : "part"}, pieces);
  }

  /** Both sides of one sentence, word by word, that mark each other. */
  pair(part) {
    const sources = wordsOf(part.source, part.source_tokens).slice(0, -1);
    const targets = wordsOf(part.target, part.target_tokens).filter((group) => part.target_tokens[group[0]].start !== part.target_tokens[group[0]].end);
    const looks = targets.map((target) => sources.map((source) =>
      target.reduce((sum, t) => sum + source.reduce((inner, c) => inner + part.alignment[t][c], 0), 0) / target.length));
    const linked = (t, c) => looks[t][c] >= 0.5 * Math.max(...looks[t]) && looks[t][c] > 0.1;
    const model = this.models[state.m];
    const mark = (side, place, on) => {
      const others = side === "source" ? targetButtons : sourceSpans;
      const own = side === "source" ? sourceSpans : targetButtons;
      own[place].classList.toggle("marked", on);
      others.forEach((each, other) => {
        if (side === "source" ? linked(other, place) : linked(place, other)) each.classList.toggle("marked", on);
      });
    };
    const hook = (side, place) => ({
      onpointerenter: () => mark(side, place, true), onpointerleave: () => mark(side, place, false),
      onfocus: () => mark(side, place, true), onblur: () => mark(side, place, false)});
    const sourceSpans = sources.map((group, place) => h("button", {type: "button", class: "chip plain", ...hook("source", place),
      "aria-label": `${label(part.source_tokens, group)}: with ${targets.flatMap((target, t) => linked(t, place) ? [label(part.target_tokens, target)] : []).join(", ") || "nothing"}`},
      label(part.source_tokens, group)));
    const targetButtons = targets.map((group, place) => {
      const probability = Math.exp(Math.min(...group.map((each) => part.log_probabilities[each])));
      return h("button", {type: "button", class: `chip doubt-${doubt(probability)}`, ...hook("target", place),
        onclick: () => this.alternatives(part, group),
        "aria-label": `${label(part.target_tokens, group)}, ${percent(probability)}, from ${sources.flatMap((source, c) => linked(place, c) ? [label(part.source_tokens, source)] : []).join(", ") || "nothing"}; other words`},
        label(part.target_tokens, group));
    });
    return h("div", {class: "pair"}, h("p", {lang: spoken(model.source_lang)}, sourceSpans), h("p", {lang: spoken(model.target_lang)}, targetButtons));
  }

  /** What the model could have written in place of a word; choosing one translates again from there. */
  async alternatives(part, group) {
    const {steps} = await ask("steps", {model: state.m, text: part.source, target: part.target, switches: switches()});
    const before = part.target_tokens.slice(0, group[0]).map((token) => token.id);
    const choose = async (id) => {
      const tree = await ask("tree", {model: state.m, text: part.source, switches: switches(), edits: {pinned: [...before, id]}});
      this.replace(part, tree.finished[0].text);
    };
    const at = steps[group[0]];
    this.panel.hidden = false;
    this.panel.replaceChildren(
      h("p", {}, "In place of ", h("strong", {}, label(part.target_tokens, group)), at ? ", what the model had in mind:" : ""),
      h("p", {class: "row"}, at.guess.candidates.map((candidate) => h("button", {type: "button", class: "chip",
        onclick: () => choose(candidate.id)}, word(candidate.text), h("small", {}, ` ${percent(Math.exp(candidate.log_probability))}`)))),
      h("p", {class: "row"}, h("button", {type: "button", onclick: () => set({view: "tree", t: part.source, pin: before}, {remember: true})}, "Open the beam tree here"),
        h("button", {type: "button", onclick: () => { this.panel.hidden = true; }}, "Close")));
    this.panel.querySelector("button").focus();
  }

  /** Put another translation of one sentence in its place. */
  async replace(part, target) {
    const {parts: [opened]} = await ask("translation", {model: state.m, text: part.source, target, switches: switches()});
    const parts = this.answer.parts.map((each) => each === part ? {...opened, before: part.before, after: part.after} : each);
    this.answer = {text: parts.map((each) => each.before + (each.target ?? "") + each.after).join(""), parts};
    this.show(this.answer);
  }

  remember(text) {
    if (!text.trim() || this.history[0]?.text === text) return;
    if (this.history[0] && state.t.startsWith(this.history[0].source)) this.history.shift(); // still writing
    this.history = [{source: state.t, text, m: state.m}, ...this.history].slice(0, REMEMBERED);
    this.past.replaceChildren(...this.history.map((each) => h("li", {}, h("button", {type: "button", class: "plain",
      onclick: () => set({t: each.source, m: each.m}, {remember: true})}, each.source), h("br"), h("span", {class: "quiet"}, each.text))));
  }
}

customElements.define("look-translate", Translate);
