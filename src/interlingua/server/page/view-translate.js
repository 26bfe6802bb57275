// Two panes. Words are coloured by probability on demand, point at each other, and open their alternatives.

import {h, beginning, debounce, doubt, language, percent, spoken} from "./dom.js";
import {state, set, switches} from "./state.js";
import {LONGEST, Refused, ask, isExported, settings, translateFile} from "./api.js";
import {save} from "./export.js";
import {View} from "./view.js";
import {alignedWords, isShown, label, textOf, wordsOf} from "./tokens.js";
import {wordsPicture} from "./pictures.js";
import {fileButton, plainText} from "./text-file.js";
import {FIND, between, chooseLanguages, eachModel, sourcesOf, targetsOf, toldOfFound, wanted, whyNotOne} from "./ways.js";

const REMEMBERED = 20, FORMATS = [".txt", ".html", ".htm", ".srt", ".odt", ".docx"];
/** What was translated since the page was opened, newest first. */
let past = [];

class Translate extends View {
  watches = ["m", "t", "sw", "pin", "whole", "alt", "probs"];
  takesAnyWay = true;
  fileBeside = null;

  build() {
    const later = debounce((t) => set({t}), 180);
    this.limit = Infinity;
    settings().then(({charLimit}) => { this.limit = charLimit > 0 ? charLimit : Infinity; });
    this.input = h("textarea", {id: "source", dir: "auto", rows: 5, value: state.t, spellcheck: "false", "aria-describedby": "drop-hint",
      oninput: (event) => later(this.fit(event.target.value)), readonly: isExported});
    const file = fileButton("source-file", `${FORMATS.join(",")},text/plain`, (chosen) => this.take(() => this.open(chosen)));
    this.cutNote = h("div", {class: "row quiet", role: "status"});
    this.fileNote = h("p", {class: "row", role: "status"});
    this.fileFault = h("p", {role: "alert"});
    const choose = () => this.attempt(() => this.chooseLanguages());
    [this.from, this.to] = ["from", "to"].map((id) => h("select", {id, disabled: isExported, onchange: choose}));
    this.found = h("span", {class: "quiet", role: "status"});
    this.through = h("span", {class: "quiet", role: "status"});
    this.output = h("div", {class: "output", dir: "auto", "aria-live": "polite"});
    this.aligned = h("div", {class: "aligned"});
    this.panel = h("div", {class: "alternatives", role: "region", "aria-label": "Alternatives", hidden: true});
    this.probabilities = h("input", {type: "checkbox", checked: state.probs, onchange: (event) => set({probs: event.target.checked})});
    this.past = h("ol", {class: "past"});
    this.list();
    return [
      h("div", {class: "panes", ondragover: (event) => { if (event.dataTransfer.types.includes("Files")) event.preventDefault(); },
        ondrop: (event) => this.drop(event)},
        h("section", {}, h("h2", {class: "hidden"}, "Text"), h("p", {class: "row"}, h("label", {for: "from"}, "From"), this.from, this.found), h("label", {for: "source", class: "hidden"}, "Text to translate"), this.input,
          h("p", {class: "row quiet", id: "drop-hint"}, "Write, paste, or drop a file: text, .docx, .odt, .html or .srt. ", file), this.fileFault, this.fileNote, this.cutNote),
        h("section", {}, h("h2", {class: "hidden"}, "Translation"), h("p", {class: "row"}, h("label", {for: "to"}, "To"), this.to, this.through), this.output,
          h("p", {class: "row"}, h("label", {class: "check"}, this.probabilities, " Colour words by probability"),
            h("button", {type: "button", onclick: () => this.copy()}, "Copy")))),
      this.panel, this.aligned,
      h("details", {}, h("summary", {}, "History"), this.past),
    ];
  }

  drop(event) {
    const [file] = event.dataTransfer.files;
    if (!file) return;
    event.preventDefault();
    this.take(() => this.open(file));
  }

  /** Do something with a file; what cannot be done is said beside the text, where the file was dropped. */
  async take(run) {
    this.forgetFile();
    try {
      await run();
    } catch (error) {
      this.complain(error, this.fileFault);
      this.fileFault.scrollIntoView({block: "nearest"});
    }
    this.fileBeside = state.t;
  }

  /** What was said of a file stands as long as the text that it was said beside. */
  forgetFile() {
    this.fileBeside = null;
    this.fileFault.textContent = "";
    this.fileNote.replaceChildren();
  }

  /** A text goes into the left pane; what is more than text is translated as it is, to be taken away. */
  async open(file) {
    if (!file) return;
    const {supportedFilesFormat: formats = FORMATS} = await settings();
    const suffix = /\.[^.]*$/.exec(file.name.toLowerCase())?.[0], isKnown = formats.includes(suffix);
    const text = isKnown && suffix !== ".txt" ? null : await plainText(file);
    if (text === null && isKnown) {
      await this.translate(file); // a .txt too, should it be text in another encoding
      return;
    }
    if (text === null) throw new Refused(`${file.name} is no text in UTF-8, and no file of a kind that can be translated: ${formats.join(", ")}.`);
    set({t: this.fit(text, suffix === ".txt" ? file : null)}, {remember: true});
    this.input.value = state.t;
  }

  async translate(file) {
    this.fileNote.replaceChildren(`Translating ${file.name} …`);
    try {
      const {name, content} = await translateFile(file, wanted(this.models)); // its language may be another than the text's: the server finds out
      this.fileNote.replaceChildren(`${file.name} is translated. `, h("button", {type: "button", class: "main", onclick: () => save(name, content, content.type)}, `Download ${name}`));
    } catch (error) {
      this.fileNote.replaceChildren();
      throw error;
    }
  }

  /** Cut a text to what the server takes at once, and say so; the file that it came from can be translated whole. */
  fit(text, file = null) {
    const fitting = beginning(text, this.limit);
    this.cutNote.replaceChildren(...fitting === text ? [] : [
      h("span", {}, `The text was cut: of ${text.length.toLocaleString("en")} characters the first ${fitting.length.toLocaleString("en")} are here.`),
      ...file ? [h("button", {type: "button", onclick: () => this.take(() => this.translate(file))}, "Translate the whole file")] : []]);
    if (fitting !== text) this.input.value = fitting;
    return fitting;
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
    const {source, target} = wanted(this.models);
    const offer = (select, options, chosen) => select.replaceChildren(...options.map(([value, text]) => h("option", {value, selected: value === chosen}, text)));
    offer(this.from, [[FIND, "Detect language"], ...sourcesOf(this.ways).map((code) => [code, language(code)])], source);
    offer(this.to, targetsOf(this.ways, source).map((code) => [code, language(code)]), target);
    if (document.activeElement !== this.input) this.input.value = state.t;
    if (this.fileBeside !== null && this.fileBeside !== state.t) this.forgetFile();
  }

  async chooseLanguages() {
    const chosen = this.chosen = [this.from.value, this.to.value];
    const isLast = () => this.chosen === chosen; // whoever walks through the languages by key chooses several before the first is answered
    try {
      const changes = await chooseLanguages(this.models, this.ways, ...chosen);
      if (isLast()) set(changes, {remember: true});
    } finally {
      if (isLast()) this.refresh(); // what could not be chosen is not shown as chosen
    }
  }

  /** Say which language was found and through which others the text goes. */
  tell(way) {
    this.input.lang = spoken(way.source) ?? "en";
    this.output.lang = spoken(way.target) ?? "en";
    this.found.textContent = state.from === FIND && state.t.trim() ? toldOfFound(way) : "";
    this.through.textContent = way.models.length > 1 ? `through ${between(way, this.models)}` : "";
    this.probabilities.disabled = way.models.length !== 1;
  }

  async ask(signal) {
    const {source, target, models} = this.way;
    this.tell(this.way);
    if (!state.t.trim() || !models.length) return {text: "", parts: []};
    if (models.length > 1) {
      const {translatedText, pivot} = await ask("translate", {q: state.t, source, target}, {signal});
      return {text: translatedText, pivot, parts: [{before: "", target: translatedText, after: ""}]};
    }
    const parts = [];
    for (const text of pieces(state.t)) parts.push(...(await ask("translation", {model: state.m, text, switches: switches()}, {signal})).parts);
    for (const [place, ids, whole] of chosenWords(parts)) parts[place] = await this.beginning(parts[place], ids, whole, signal);
    return {text: parts.map((each) => each.before + (each.target ?? "") + each.after).join(""), parts};
  }

  /** The translation of one sentence that begins with these symbols, which may be whole words. */
  async beginning(part, ids, whole, signal) {
    const question = {model: state.m, text: part.source, switches: switches()};
    const tree = await ask("tree", {...question, edits: {pinned: ids, ...whole && {whole}}}, {signal});
    const {parts: [opened]} = await ask("translation", {...question, target: tree.finished[0].text}, {signal});
    return {...opened, before: part.before, after: part.after};
  }

  show(answer) {
    this.text = answer.text;
    this.remember(answer.text);
    this.output.classList.toggle("coloured", state.probs);
    this.output.replaceChildren(...answer.parts.map((part) => this.part(part)));
    const opened = answer.parts.filter((part) => part.source_tokens);
    this.aligned.replaceChildren(...opened.length ? [
      h("h3", {}, "Which word became which"),
      h("p", {class: "quiet"}, "Point at a word, or move to it with the Tab key: the words that it hangs together with are marked. ",
        "Press a word of the translation for other words in its place."),
      ...opened.map((part) => this.pair(part))] : [this.toldOfWay(answer)].filter(Boolean));
    this.close();
    return chosenWords(answer.parts).length ? h("p", {class: "row"}, "The beginning is pinned. ",
      h("button", {type: "button", onclick: () => set({pin: [], whole: false, alt: [], target: null}, {remember: true})}, "Let the model choose again")) : null;
  }

  /** What there is to say of a text that no model translates alone: through which languages it went, by the server's own word. */
  toldOfWay({pivot}) {
    if (pivot) return h("p", {class: "note"}, `Translated through ${pivot.split(">").map(language).join(" and ")}, by one model after another. Words are coloured and linked where one model translates: `, eachModel(this));
    return state.t.trim() && !this.way.models.length ? whyNotOne(this) : null;
  }

  pictures() {
    const opened = this.answer?.parts.filter((part) => part.target_tokens) ?? [];
    return opened.length ? [wordsPicture(opened, `${state.t} → ${this.answer.text}`)] : [];
  }

  /** The translation as running text. */
  part(part) {
    const pieces = [part.before];
    if (part.target_tokens) {
      for (const group of wordsOf(part.target, part.target_tokens)) {
        if (!isShown(part.target_tokens, group)) continue;
        const text = textOf(part.target, part.target_tokens, group);
        const probability = Math.exp(Math.min(...group.map((place) => part.log_probabilities[place])));
        pieces.push(/^\s/.test(text) ? " " : "", h("span", {class: `word doubt-${doubt(probability)}`, title: `${text.trim()}: ${percent(probability)}`}, text.trim()));
      }
    } else {
      pieces.push(part.target ?? "");
    }
    pieces.push(part.after);
    return h("span", {}, pieces);
  }

  /** Both sides of one sentence, word by word, that mark each other. */
  pair(part) {
    const {sources, targets, linked} = alignedWords(part);
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
    const sourceSpans = sources.map(({text}, place) => h("button", {type: "button", class: "chip plain", ...hook("source", place),
      "aria-label": `${text}: with ${targets.flatMap((target, t) => linked(t, place) ? [target.text] : []).join(", ") || "nothing"}`}, text));
    const targetButtons = targets.map(({group, text, probability}, place) => h("button", {type: "button", class: `chip${state.probs ? ` doubt-${doubt(probability)}` : ""}`, ...hook("target", place),
      onclick: (event) => this.attempt(() => this.alternatives(part, group, event.currentTarget)),
      "aria-label": `${text}, ${percent(probability)}, from ${sources.flatMap((source, c) => linked(place, c) ? [source.text] : []).join(", ") || "nothing"}; other words`}, text));
    return h("div", {class: "pair"}, h("p", {lang: spoken(model.source_lang), dir: "auto"}, sourceSpans), h("p", {lang: spoken(model.target_lang), dir: "auto"}, targetButtons));
  }

  /** What words the model could have written in place of one; choosing another translates again from there. */
  async alternatives(part, group, button) {
    const begun = part.target_tokens.slice(0, group[0] + 1).map((token) => token.id), before = begun.slice(0, -1);
    this.opened = group;
    const {words} = await ask("steps", {model: state.m, text: part.source, target: part.target, switches: switches(), instead_of: begun});
    if (this.opened !== group || !this.answer?.parts.includes(part) || document.activeElement === this.input) return; // somebody went on
    const choose = async (added) => {
      const ids = [...before, ...added], place = this.answer.parts.indexOf(part);
      const {target} = await this.beginning(part, ids, true);
      if (this.answer.parts[place] !== part) return; // the text has changed since
      if (isAlone(part, this.answer.parts)) set({pin: ids, whole: true, typed: "", target}, {remember: true});
      else set({alt: [...state.alt.filter(([other]) => other !== place), [place, ids]]}, {remember: true});
    };
    this.opener = this.buttons().indexOf(button);
    this.panel.hidden = false;
    this.panel.replaceChildren(
      h("p", {}, "In place of ", h("strong", {}, label(part.target, part.target_tokens, group)), ", what the model had in mind:"),
      h("p", {class: "row", lang: spoken(this.models[state.m].target_lang), dir: "auto"}, words.map(({ids, text, log_probability}) => h("button", {type: "button", class: "chip",
        onclick: () => this.attempt(() => choose(ids))}, text, h("small", {}, ` ${percent(Math.exp(log_probability))}`)))),
      h("p", {class: "row"}, h("button", {type: "button", onclick: () => set({view: "tree", t: part.source, pin: before, whole: true}, {remember: true})}, "Open the beam tree here"),
        h("button", {type: "button", onclick: () => this.close()}, "Close")));
    this.panel.querySelector("button").focus();
  }

  /** Close the other words; whoever was among them goes on at the word in whose place they could stand. */
  close() {
    const isInside = this.panel.contains(document.activeElement);
    this.panel.hidden = true;
    if (isInside) this.buttons()[this.opener]?.focus({preventScroll: true});
  }

  buttons() {
    return [...this.aligned.querySelectorAll("button")];
  }

  remember(text) {
    if (!text.trim()) return;
    const now = {t: state.t, m: state.m, from: state.from, to: state.to, pin: state.pin, whole: state.whole, alt: state.alt, target: state.target, text};
    const isSame = (each) => each.t === now.t && each.m === now.m && each.text === text;
    const isBeginning = (each) => each.m === now.m && now.t !== each.t && now.t.startsWith(each.t);
    if (past[0] && isBeginning(past[0])) past.shift(); // still writing
    past = [now, ...past.filter((each) => !isSame(each))].slice(0, REMEMBERED);
    this.list();
  }

  list() {
    this.past.replaceChildren(...past.map(({text, ...state_}) => h("li", {}, h("button", {type: "button", class: "plain", dir: "auto",
      onclick: () => set(state_, {remember: true})}, state_.t), h("br"), h("span", {class: "quiet", dir: "auto"}, text))));
  }
}

/** A long text in pieces that are asked for one by one, cut after a line, else after a sentence, else between words. */
function pieces(text) {
  const found = [];
  let rest = text;
  while (rest.length > LONGEST) {
    const most = beginning(rest, LONGEST);
    const end = [/^[^]*\n/, /^[^]*[.!?…](?=\s)|^[^]*[。！？]/, /^[^]*\s/].map((cut) => cut.exec(most)?.[0]).find((each) => each?.trim())?.length ?? most.length;
    found.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return [...found, rest];
}

/** Whether a sentence is the only one. */
function isAlone(part, parts) {
  return parts.every((each) => each === part || !each.target_tokens);
}

/** Where somebody chose how a sentence begins: its place, the symbols, and whether they are whole words. */
function chosenWords(parts) {
  const only = parts.findIndex((part) => part.target_tokens && isAlone(part, parts));
  if (only >= 0) return state.pin.length ? [[only, state.pin, state.whole]] : [];
  return state.alt.filter((each) => Array.isArray(each) && Array.isArray(each[1]) && parts[each[0]]?.target_tokens).map(([place, ids]) => [place, ids, true]);
}

customElements.define("look-translate", Translate);
