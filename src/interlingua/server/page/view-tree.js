// The beam tree, alive: what search kept and pruned, and what it does when somebody pins, cuts, forces, bans or types.

import {h, field, number, percent, spoken, word} from "./dom.js";
import {state, set, switches, link} from "./state.js";
import {ask, isExported} from "./api.js";
import {View} from "./view.js";
import {drawTree} from "./tree-picture.js";

const EDITS = ["pin", "whole", "typed", "force", "ban", "cut", "w", "a"];

class Tree extends View {
  watches = ["m", "t", "sw", "cmp", ...EDITS];
  needsText = true;
  before = [];
  showPruned = true;

  build() {
    this.beam = h("input", {type: "range", min: 1, max: 12, id: "beam", disabled: isExported, onchange: (event) => this.edit({w: Number(event.target.value)})});
    this.alpha = h("input", {type: "range", min: 0, max: 2, step: 0.1, id: "alpha", disabled: isExported, onchange: (event) => this.edit({a: Number(event.target.value)})});
    this.beamText = h("strong", {});
    this.alphaText = h("strong", {});
    this.force = h("input", {type: "text", dir: "auto", disabled: isExported, onchange: (event) => this.edit({force: list(event.target.value)})});
    this.ban = h("input", {type: "text", dir: "auto", disabled: isExported, onchange: (event) => this.edit({ban: list(event.target.value)})});
    this.typed = h("input", {type: "text", dir: "auto", disabled: isExported, onchange: (event) => this.edit({typed: event.target.value.trim()})});
    this.undoButton = h("button", {type: "button", onclick: () => this.undo()}, "Undo");
    this.compareButton = h("button", {type: "button", onclick: () => this.compare()}, "Keep this tree to compare");
    this.node = h("section", {class: "node", "aria-label": "The chosen word", hidden: true});
    return [
      h("h2", {class: "hidden"}, "Beam tree"),
      h("div", {class: "controls"},
        h("label", {class: "field"}, h("span", {class: "label"}, "Beam size ", this.beamText), this.beam),
        h("label", {class: "field"}, h("span", {class: "label"}, "Length penalty ", this.alphaText), this.alpha),
        field("Begins with", this.typed), field("Must hold", this.force), field("Must not hold", this.ban)),
      h("p", {class: "row"}, this.undoButton,
        h("button", {type: "button", disabled: isExported, onclick: () => this.edit({pin: [], typed: "", force: [], ban: [], cut: [], w: null, a: null})}, "Begin anew"),
        this.compareButton,
        h("button", {type: "button", onclick: () => this.copyLink()}, "Copy a link to this"),
        h("label", {class: "check"}, h("input", {type: "checkbox", checked: true, onchange: (event) => { this.showPruned = event.target.checked; this.update(); }}), " Show what was pruned")),
      this.node,
    ];
  }

  edit(changes) {
    this.before.push(snapshot([...EDITS, "t", "m"]));
    // A translation that was chosen by its beginning goes with this beginning; what is pinned here may be half a word.
    const beginning = "pin" in changes ? {whole: false, ...state.pin.length && {target: null}} : {};
    set({...beginning, ...changes}, {remember: true});
  }

  undo() {
    const last = this.before.pop();
    if (last) set(last);
    this.refresh();
  }

  compare() {
    set({cmp: state.cmp ? null : snapshot([...EDITS, "sw"])}, {remember: true});
  }

  async copyLink() {
    try {
      await navigator.clipboard.writeText(link());
      this.message.textContent = "The link is copied: it opens exactly this tree.";
    } catch {
      this.message.textContent = `The link to exactly this is the address of the page: ${link()}`;
    }
  }

  refresh() {
    this.before = this.before.filter(({t, m}) => t === state.t && m === state.m); // what was pinned in another sentence means nothing here
    this.undoButton.disabled = !this.before.length;
    this.compareButton.textContent = state.cmp ? "Stop comparing" : "Keep this tree to compare";
    this.compareButton.setAttribute("aria-pressed", String(Boolean(state.cmp)));
    for (const [input, value] of [[this.typed, state.typed], [this.force, state.force.join(", ")], [this.ban, state.ban.join(", ")]]) {
      if (document.activeElement !== input) input.value = value;
    }
  }

  async ask(signal) {
    const wanted = (from) => ask("tree", {model: state.m, text: state.t, beam_size: from.w, alpha: from.a, switches: switches(from.sw), edits: tidy({
      pinned: from.pin, whole: from.whole && from.pin.length > 0, typed: from.typed, force: from.force, ban: from.ban, cut: from.cut})}, {signal});
    const [tree, other] = await Promise.all([wanted(state), state.cmp ? wanted({...Object.fromEntries(EDITS.map((name) => [name, null])), ...state.cmp}) : null]);
    return {tree, other};
  }

  /** Whoever did something with a word goes on at this word, or at the last before it that is still there. */
  draw(answer) {
    const isInside = this.node.contains(document.activeElement), {nodes} = answer.tree;
    super.draw(answer);
    if (!isInside) return;
    const way = [0];
    for (const id of this.opened) way.push(nodes.findIndex((node) => node.parent === way.at(-1) && node.id === id));
    const drawn = way.map((place) => this.result.querySelector(`[data-node="${place}"]`));
    drawn.findLast(Boolean)?.focus({preventScroll: true});
  }

  show({tree, other}) {
    this.beam.value = tree.beam_size;
    this.alpha.value = tree.length_penalty;
    this.beamText.textContent = String(tree.beam_size);
    this.alphaText.textContent = number(tree.length_penalty, 1);
    this.node.hidden = true;
    return [
      tree.unmet.length ? h("p", {class: "note"}, `There was no way to write: ${tree.unmet.join(", ")}.`) : null,
      this.figure(tree, "The search", true),
      this.finished(tree, "Finished targets"),
      other ? [h("h3", {}, "The tree that was kept"), this.figure(other, "The tree that was kept", false), this.finished(other, "Finished targets of the tree that was kept", new Set(tree.finished.map((each) => each.text)))] : null,
      h("p", {class: "quiet"}, "Each column is one step. A word's colour is its probability after the words before it, the number its share in per cent. ",
        "Solid lines were kept, dashed ones pruned: they were worth less than what fills the beam. Struck words were forbidden by you. ",
        "The sum of log-probabilities only falls with every word; divided by ((5 + length) / 6) to the power of the length penalty it ranks targets of different lengths."),
    ];
  }

  figure(tree, name, isLive) {
    return h("figure", {class: "tree"}, drawTree(tree, {name, showPruned: this.showPruned, pick: isLive ? (place) => this.open(tree, place) : null}));
  }

  finished(tree, name, others = null) {
    return h("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": name}, h("table", {},
      h("caption", {}, `${name}, best first`),
      h("thead", {}, h("tr", {}, ["Target", "Score", "Sum", "Length"].map((each) => h("th", {scope: "col"}, each)))),
      h("tbody", {}, tree.finished.map((each, place) => h("tr", {class: place ? "" : "best"},
        h("td", {lang: spoken(this.models[state.m].target_lang), dir: "auto"}, each.text, others && !others.has(each.text) ? h("span", {class: "quiet"}, " (only here)") : ""),
        h("td", {}, number(each.score)), h("td", {}, number(each.total)), h("td", {}, each.length))))));
  }

  /** What can be done with one node. */
  open(tree, place) {
    const ids = [], text = [];
    for (let at = place; tree.nodes[at].parent !== null; at = tree.nodes[at].parent) {
      ids.unshift(tree.nodes[at].id);
      text.unshift(tree.nodes[at].text);
    }
    this.opened = ids;
    const node = tree.nodes[place];
    const shown = word(node.text);
    const press = (text, changes) => h("button", {type: "button", disabled: isExported, onclick: () => this.edit(changes)}, text);
    const correction = h("input", {type: "text", dir: "auto", disabled: isExported, onkeydown: (event) => { if (event.key === "Enter") write(); }});
    const write = () => { if (correction.value.trim()) this.edit({pin: ids.slice(0, -1), typed: correction.value.trim()}); };
    this.node.hidden = false;
    this.node.replaceChildren(
      h("h3", {dir: "auto"}, text.join("").replaceAll("▁", " ").trim() || "The beginning"),
      ids.length ? h("p", {}, `“${shown}”: ${percent(Math.exp(node.log_probability))} after what stands before it. Sum ${number(node.total)}, normalised ${number(node.score)}. `,
        {kept: "It was kept.", finished: "It ends a target.", pruned: "It was pruned: there was better.", forbidden: "You forbade it."}[node.state]) : null,
      h("p", {class: "row"},
        node.state === "finished" ? null : press(ids.length ? "Pin up to here" : "Pin nothing", {pin: ids, typed: ""}),
        ids.length && node.state !== "forbidden" ? press("Cut this branch", {cut: [...state.cut, ids]}) : null,
        node.state === "forbidden" ? press("Allow it again", {cut: state.cut.filter((each) => JSON.stringify(each) !== JSON.stringify(ids))}) : null,
        /\p{L}/u.test(shown) && node.text.startsWith("▁") ? [
          press(`Ban “${shown}” everywhere`, {ban: [...new Set([...state.ban, shown])]}),
          press(`Force “${shown}”`, {force: [...new Set([...state.force, shown])]})] : null),
      ids.length ? h("p", {class: "row"}, h("label", {class: "field"}, h("span", {class: "label"}, "Write something else here"), correction), h("button", {type: "button", disabled: isExported, onclick: write}, "Write it")) : null);
    this.node.scrollIntoView({block: "nearest"});
  }
}

/** How these stand now. */
function snapshot(names) {
  return structuredClone(Object.fromEntries(names.map((name) => [name, state[name]])));
}

/** Words between commas. */
function list(text) {
  return text.split(",").map((each) => each.trim()).filter(Boolean);
}

function tidy(edits) {
  return Object.fromEntries(Object.entries(edits).filter(([, value]) => value && value.length !== 0));
}

customElements.define("look-tree", Tree);
