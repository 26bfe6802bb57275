// The frame: which model, which view, which sentence, what is switched off.

import {h, debounce, field, language, spoken} from "./dom.js";
import {state, set, listen, linkTo, ofModel, switches} from "./state.js";
import {LONGEST, ask, hasKey, models, isExported, useKey, wantsKey, Refused} from "./api.js";
import {listWays, between} from "./ways.js";
import {exportBar} from "./export.js";
import "./view-translate.js";
import "./view-attention.js";
import "./view-tree.js";
import "./view-steps.js";
import "./view-how.js";
import "./view-map.js";
import "./view-file.js";

const NAMES = {
  translate: "Translate", attention: "Attention", tree: "Beam tree", steps: "Each step",
  how: "How it works", map: "Embeddings & positions", file: "Test set",
};
const WITH_SENTENCE = ["attention", "tree", "steps", "how"];

class Page extends HTMLElement {
  async connectedCallback() {
    document.querySelector(".skip").addEventListener("click", (event) => {
      event.preventDefault(); // what stands in the address is what is looked at, and no place on the page
      document.getElementById("main")?.focus();
    });
    try {
      this.models = await wantsKey() ? await this.unlock() : await models();
      this.ways = await listWays(this.models);
      if (!this.models[state.m]) set({m: 0});
      if (!state.t && !isExported) set({t: (await ask("about", {model: state.m})).example});
    } catch (error) {
      this.append(h("main", {id: "main", tabindex: -1}, h("h1", {}, "Interlingua"), h("p", {role: "alert"}, error.message)));
      return;
    }
    this.build();
    listen((names) => this.refresh(names));
    this.refresh(["view"]);
  }

  /** Ask for the key until it is right; the form is one that password managers know. */
  async unlock() {
    const said = h("p", {role: "alert"});
    const key = h("input", {id: "key", name: "key", type: "password", required: true, pattern: "[!-~]+", autocomplete: "current-password"});
    const form = h("form", {class: "controls"}, field("API key", key), h("button", {class: "main"}, "Open"));
    const door = h("main", {id: "main", tabindex: -1}, h("h1", {}, "Interlingua"), h("p", {}, "This server answers whoever has a key. Its operator gives them out."), form, said);
    this.append(door);
    for (;;) {
      if (hasKey()) {
        try {
          const found = await models();
          door.remove();
          return found;
        } catch (error) {
          if (!(error instanceof Refused)) throw error;
          said.textContent = error.message;
        }
      }
      await new Promise((sent) => form.addEventListener("submit", (event) => { event.preventDefault(); sent(); }, {once: true}));
      useKey(key.value);
    }
  }

  build() {
    this.model = h("select", {id: "model", disabled: isExported, onchange: async (event) => {
      const m = this.wanted = Number(event.target.value);
      await this.main.firstElementChild.attempt(() => this.choose(m));
      if (this.wanted === m) this.tell(this.main.firstElementChild.way); // where it cannot be chosen
    }},
      this.models.map((model, place) => h("option", {value: place, selected: place === state.m}, `${model.source_name} → ${model.target_name}${model.name ? ` · ${model.name}` : ""}`)));
    this.tabs = Object.entries(NAMES).map(([view, name]) => h("a", {href: linkTo(view), "data-view": view,
      onclick: (event) => { if (!event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); set({view}, {remember: true}); } }}, name));
    const later = debounce((t) => set({t}), 250);
    this.sentence = h("input", {id: "sentence", type: "text", dir: "auto", value: state.t, maxlength: LONGEST, autocomplete: "off", spellcheck: "false",
      disabled: isExported, oninput: (event) => later(event.target.value)});
    this.bar = h("div", {class: "sentence"}, h("label", {for: "sentence"}, "Sentence"), this.sentence);
    this.off = h("div", {class: "off", role: "status"});
    this.main = h("main", {id: "main", tabindex: -1});
    this.main.addEventListener("way", (event) => this.tell(event.detail));
    this.append(
      h("header", {}, h("div", {class: "top"}, h("h1", {}, "Interlingua"), h("label", {for: "model", class: "hidden"}, "Model"), this.model),
        h("nav", {"aria-label": "Views"}, this.tabs)),
      h("section", {"aria-label": "What is looked at"},
        isExported ? h("p", {class: "note"}, "A saved page: it holds what was looked at when it was saved, and works without a network.") : "",
        this.bar, this.off),
      this.main,
      h("footer", {}, exportBar(() => this.main.firstElementChild)));
  }

  async choose(m) {
    const same = this.models[m].source_lang === (this.main.firstElementChild.way?.source ?? this.models[state.m].source_lang);
    const t = same ? state.t : (await ask("about", {model: m})).example;
    if (this.wanted === m) set({...ofModel(m), t}, {remember: true}); // and no other was chosen since
  }

  /** Show above all views which model is looked into, or that it is not one. */
  tell(way) {
    if (!way) return;
    this.sentence.lang = spoken(way.source) ?? "en";
    this.model.querySelector("[value='']")?.remove();
    const isOne = way.models.length === 1;
    if (!isOne) this.model.prepend(h("option", {value: ""}, this.toldOf(way)));
    this.model.value = isOne ? String(state.m) : "";
  }

  /** What stands in the place of a model where there is not one. */
  toldOf(way) {
    const [from, to] = [language(way.source), language(way.target)];
    if (way.source === way.target) return `No model: the text is in ${to} already`;
    if (!way.models.length) return `No model: none leads from ${from} to ${to}`;
    return `${from} → ${to}, through ${between(way, this.models)}`;
  }

  refresh(names) {
    if (!this.models[state.m]) return set({m: 0}); // an address that somebody wrote; this is called again
    for (const tab of this.tabs) {
      tab.href = linkTo(tab.dataset.view);
      if (tab.dataset.view === state.view) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    this.bar.hidden = !WITH_SENTENCE.includes(state.view);
    if (document.activeElement !== this.sentence) this.sentence.value = state.t;
    const number = Object.values(switches()).flat().length;
    this.off.hidden = !number;
    this.off.replaceChildren(...number ? [
      `${number === 1 ? "One thing is" : `${number} things are`} switched off or edited: this is not the model as it was trained. `,
      h("button", {type: "button", onclick: () => set({sw: {}}, {remember: true})}, "Put everything back")] : []);
    const shown = this.main.firstElementChild;
    if (shown?.dataset.view !== state.view) {
      const view = document.createElement(`look-${state.view}`);
      view.dataset.view = state.view;
      Object.assign(view, {models: this.models, ways: this.ways});
      this.main.replaceChildren(view);
      document.title = `${NAMES[state.view]} · Interlingua`;
    }
    void names;
  }
}

customElements.define("look-page", Page);
