// A whole file: scores against lengths, one sentence opened, its nearest training pairs, two models side by side.

import {h, s, beginning, choice, number} from "./dom.js";
import {state, set, switches, ofAnySentence} from "./state.js";
import {LONGEST, Refused, ask, isExported} from "./api.js";
import {View} from "./view.js";
import {fileButton, plainText} from "./text-file.js";

const AT_ONCE = 16, MOST = 2000, SHOWN = 200;

/** What changed between two texts, by words: the longest common subsequence stays. */
export function difference(one, other) {
  const a = one.split(/\s+/), b = other.split(/\s+/);
  const size = Array.from({length: a.length + 1}, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) size[i][j] = a[i] === b[j] ? size[i + 1][j + 1] + 1 : Math.max(size[i + 1][j], size[i][j + 1]);
  const parts = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { parts.push(a[i++]); j++; }
    else if (j < b.length && (i === a.length || size[i][j + 1] >= size[i + 1][j])) parts.push(h("ins", {}, b[j++]));
    else parts.push(h("del", {}, a[i++]));
  }
  return parts.flatMap((part, n) => n ? [" ", part] : [part]);
}

/** What was given and what came of it, as long as the page is open: too much for an address. */
const kept = {text: "", lines: [], tooMany: 0, order: "place", of: "", answer: null};

class FileView extends View {
  watches = ["m", "other", "sw"];
  build() {
    this.input = h("textarea", {id: "lines", dir: "auto", rows: 6, spellcheck: "false", readonly: isExported, "aria-describedby": "lines-hint"});
    const file = fileButton("lines-file", ".txt,.tsv,text/plain", (chosen) => this.attempt(() => this.open(chosen)));
    this.input.addEventListener("dragover", (event) => event.preventDefault());
    this.input.addEventListener("drop", (event) => { if (event.dataTransfer.files.length) { event.preventDefault(); this.attempt(() => this.open(event.dataTransfer.files[0])); } });
    this.second = h("select", {id: "second", disabled: isExported, onchange: (event) => set({other: event.target.value === "" ? null : Number(event.target.value)}, {remember: true})});
    this.input.value = kept.text;
    this.input.addEventListener("input", () => { kept.text = this.input.value; });
    if (isExported && !kept.text) this.input.value = JSON.parse(document.getElementById("answers").textContent).lines ?? "";
    this.progress = h("progress", {max: 1, value: 0, hidden: true, "aria-label": "Translated"});
    if (isExported && this.input.value) this.take();
    return [
      h("h2", {}, "Test set"),
      h("label", {for: "lines"}, "Sentences, one a line; a reference may follow behind a tab"), this.input,
      h("p", {class: "row quiet", id: "lines-hint"}, "Paste, or drop a file here. ", file,
        h("button", {type: "button", class: "main", disabled: isExported, onclick: () => this.start()}, "Translate all"),
        h("label", {for: "second"}, "beside"), this.second, this.progress),
    ];
  }

  refresh() {
    const own = this.models[state.m];
    this.second.replaceChildren(h("option", {value: ""}, "no other model"), ...this.models.flatMap((model, n) =>
      n !== state.m && model.source_lang === own.source_lang && model.target_lang === own.target_lang ? [h("option", {value: n, selected: n === state.other}, model.name || `model ${n + 1}`)] : []));
  }

  async open(file) {
    if (!file) return;
    const text = await plainText(file);
    if (text === null) throw new Refused(`${file.name} is no text in UTF-8.`);
    this.input.value = text;
    this.start();
  }

  start() {
    this.take();
    this.update();
  }

  take() {
    kept.text = this.input.value;
    const given = kept.text.split("\n").map((line) => line.replace(/\r$/, "")).filter((line) => line.trim());
    kept.lines = given.slice(0, MOST).map((line) => {
      const [source, reference = ""] = line.split("\t");
      const isCut = Math.max(source.length, reference.length) > LONGEST;
      return {source: beginning(source, LONGEST), reference: reference.trim() && !isCut ? reference : null, isCut};
    });
    kept.tooMany = given.length - kept.lines.length;
  }

  async ask(signal) {
    if (!kept.lines.length) return null;
    const off = switches(ofAnySentence(state.sw)); // of the model itself: the one beside it is another
    const of = JSON.stringify([state.m, state.other, off, kept.lines]);
    if (kept.of === of) return kept.answer;
    const {lines} = kept, hasReferences = lines.some((line) => line.reference !== null);
    this.progress.hidden = false;
    const rows = [];
    try {
      for (let start = 0; start < lines.length; start += AT_ONCE) {
        const part = lines.slice(start, start + AT_ONCE);
        const question = {texts: part.map((line) => line.source), references: hasReferences ? part.map((line) => line.reference) : null};
        const [mine, others] = await Promise.all([ask("file", {...question, model: state.m, switches: off}, {signal}), state.other === null ? null : ask("file", {...question, model: state.other}, {signal})]);
        mine.rows.forEach((row, n) => rows.push({...row, ...part[n], place: start + n, other: others?.rows[n]}));
        this.progress.value = rows.length / lines.length;
      }
    } finally {
      this.progress.hidden = true;
    }
    Object.assign(kept, {of, answer: {rows, hasReferences}});
    return kept.answer;
  }

  show(answer) {
    if (!answer) return h("p", {class: "quiet"}, "Every sentence becomes a point: how sure the model was of it, against its length. Press one to open it.");
    const {rows, hasReferences} = answer;
    this.rows = rows;
    const value = (row) => hasReferences ? row.chrf : row.per_token;
    const name = hasReferences ? "chrF" : "log-probability a token";
    const orders = {place: (a, b) => a.place - b.place, worst: (a, b) => (value(a) ?? Infinity) - (value(b) ?? Infinity) || a.place - b.place, longest: (a, b) => b.source_tokens - a.source_tokens,
      changed: (a, b) => (b.other && b.other.text !== b.text) - (a.other && a.other.text !== a.text) || a.place - b.place};
    const scored = rows.filter((row) => value(row) !== null), cut = rows.filter((row) => row.isCut).length;
    const without = rows.filter((row) => value(row) === null && !row.isCut).length;
    const sorted = rows.toSorted(orders[kept.order]);
    const mean = (of) => of.reduce((sum, each) => sum + each, 0) / of.length;
    const changed = rows.filter((row) => row.other && row.other.text !== row.text).length;
    this.detail = h("section", {class: "node", hidden: true, "aria-label": "The chosen sentence"});
    return [
      kept.tooMany > 0 ? h("p", {class: "note"}, `The first ${MOST.toLocaleString("en")} sentences are taken; ${kept.tooMany.toLocaleString("en")} are left out.`) : null,
      cut ? h("p", {class: "note"}, `${cut === 1 ? "One line is" : `${cut.toLocaleString("en")} lines are`} longer than ${LONGEST.toLocaleString("en")} characters, which is the most that is taken: the beginning is translated${hasReferences ? ", and not scored" : ""}.`) : null,
      h("p", {}, `${rows.length.toLocaleString("en")} sentences; mean ${name} ${number(mean(scored.map(value)))}`, scored.length < rows.length ? ` of the ${scored.length.toLocaleString("en")} that ${cut ? "are scored" : "have a reference"}` : "", without ? `; ${without.toLocaleString("en")} ${without === 1 ? "has" : "have"} none` : "",
        rows[0].other ? `; mean of the other model ${number(mean(scored.map((row) => hasReferences ? row.other.chrf : row.other.per_token)))}; ${changed} translations differ` : "", "."),
      this.scatter(scored, value, name), this.detail,
      choice("Order", "order", [["place", "as in the file"], ["worst", "worst first"], ["longest", "longest first"], ...(rows[0].other ? [["changed", "changed first"]] : [])], kept.order, (order) => { kept.order = order; this.draw(answer); }),
      h("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Sentences"}, h("table", {}, h("caption", {}, sorted.length > SHOWN ? `The first ${SHOWN} in this order` : "All sentences"),
        h("thead", {}, h("tr", {}, ["Source", "Translation", ...(rows[0].other ? ["The other model"] : []), name, "Length"].map((each) => h("th", {scope: "col"}, each)))),
        h("tbody", {}, sorted.slice(0, SHOWN).map((row) => h("tr", {},
          h("td", {dir: "auto"}, h("button", {type: "button", class: "plain", onclick: () => this.choose(row)}, row.source)), h("td", {dir: "auto"}, row.text),
          row.other ? h("td", {dir: "auto"}, difference(row.text, row.other.text)) : null, h("td", {}, number(value(row))), h("td", {}, row.source_tokens)))))),
    ];
  }

  scatter(rows, value, name) {
    const values = rows.map(value), low = Math.min(...values), high = Math.max(...values, low + 1e-6), longest = Math.max(...rows.map((row) => row.source_tokens), 2);
    const x = (length) => 60 + 630 * length / longest, y = (each) => 250 - 225 * (each - low) / (high - low);
    const picture = s("svg", {viewBox: "0 0 710 290", class: "curve", role: "img", "aria-label": `${rows.length} sentences: ${name} from ${number(low)} to ${number(high)}, lengths to ${longest} tokens`},
      s("line", {class: "axis", x1: 60, x2: 690, y1: 255, y2: 255}), s("line", {class: "axis", x1: 60, x2: 60, y1: 20, y2: 255}),
      rows.map((row) => s("circle", {cx: x(row.source_tokens).toFixed(1), cy: y(value(row)).toFixed(1), r: 4, class: `point${row.other && row.other.text !== row.text ? " close" : ""}`, "data-place": row.place}, s("title", {}, row.source))),
      [low, high].map((each) => s("text", {x: 54, y: y(each) + 4, "text-anchor": "end", "font-size": 12}, number(each))),
      s("text", {x: 690, y: 274, "text-anchor": "end", "font-size": 12}, `source tokens (to ${longest})`), s("text", {x: 64, y: 14, "font-size": 12}, name));
    picture.addEventListener("click", (event) => { const at = event.target.dataset?.place; if (at !== undefined) this.choose(this.rows[Number(at)]); });
    return h("figure", {}, picture);
  }

  async choose(row) {
    const near = h("div", {}); // of this row: another that is pressed meanwhile has its own
    this.detail.hidden = false;
    this.detail.replaceChildren(h("h3", {dir: "auto"}, row.source), h("p", {dir: "auto"}, row.text), row.reference ? h("p", {}, h("span", {class: "quiet"}, "Reference: "), h("bdi", {}, row.reference)) : null,
      h("p", {class: "row"}, [["attention", "Attention"], ["tree", "Beam tree"], ["steps", "Each step"], ["how", "How it works"]].map(([view, text]) => h("button", {type: "button", onclick: () => set({view, t: row.source}, {remember: true})}, text))), near);
    this.detail.scrollIntoView({block: "nearest"});
    try {
      const {pairs, of} = await ask("nearest", {model: state.m, text: row.source});
      near.append(h("h4", {}, `Nearest of ${of.toLocaleString("en")} training pairs`), h("ul", {class: "near"}, pairs.map((pair) => h("li", {}, h("bdi", {}, pair.source), h("br"), h("span", {class: "quiet"}, h("bdi", {}, pair.target), ` (line ${pair.line.toLocaleString("en")}, likeness ${number(pair.likeness)})`)))));
    } catch (error) {
      near.append(h("p", {class: "quiet"}, error.message));
    }
  }
}

customElements.define("look-file", FileView);
