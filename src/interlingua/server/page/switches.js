// Parts of the model to switch off: heads, layers, the mask, the scaling, the positions, source words, single weights.

import {h, word} from "./dom.js";
import {state, set} from "./state.js";
import {isExported} from "./api.js";

const SIDES = {encoder: "Encoder", decoder: "Decoder"};
const ATTENTIONS = {encoder: "encoder", decoder: "decoder, to itself", cross: "decoder, to the source"};

function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Put something into a list of what is switched off, or take it out. */
function toggle(name, item) {
  const now = state.sw[name] ?? [];
  const found = now.some((each) => same(each, item));
  set({sw: {...state.sw, [name]: found ? now.filter((each) => !same(each, item)) : [...now, item]}}, {remember: true});
}

/** Edit one attention weight; the same place again replaces it. */
export function editWeight(edit) {
  const others = (state.sw.edited ?? []).filter((each) => !["kind", "layer", "head", "row", "column"].every((name) => each[name] === edit[name]));
  set({sw: {...state.sw, edited: edit.weight === null ? others : [...others, edit]}}, {remember: true});
}

/** The panel; `about` tells the sizes, `tokens` are those of the source. */
export function switchPanel(about, tokens) {
  const {encoder_layers: encoder, decoder_layers: decoder, heads} = about.architecture;
  const box = (name, text) => h("label", {class: "check"}, h("input", {type: "checkbox", disabled: isExported, checked: !state.sw[name],
    onchange: (event) => set({sw: {...state.sw, [name]: !event.target.checked}}, {remember: true})}), ` ${text}`);
  const press = (name, item, text, spoken) => {
    const off = (state.sw[name] ?? []).some((each) => same(each, item));
    return h("button", {type: "button", class: "switch", disabled: isExported, "aria-pressed": String(!off), "aria-label": spoken, onclick: () => toggle(name, item)}, text);
  };
  const layer = (side, number, kinds) => h("div", {class: "layer"},
    press("layers_off", {side, layer: number}, `${SIDES[side]} layer ${number}`, `${SIDES[side]} layer ${number}`),
    kinds.map((kind) => h("span", {class: "row"}, h("span", {class: "quiet"}, kind === "cross" ? "to source" : "to itself"),
      Array.from({length: heads}, (_, head) => press("heads_off", {kind, layer: number, head: head + 1}, String(head + 1),
        `Layer ${number}, ${ATTENTIONS[kind]}, head ${head + 1}`)))));
  return h("section", {class: "switches", "aria-label": "Switches"},
    h("h2", {}, "Switch parts off"),
    h("p", {class: "quiet"}, "Everything on this page is computed anew without them: the translation, the maps and the beam tree too. A part that is pressed in works."),
    h("div", {class: "row"}, box("mask_off", "look-ahead mask"), box("scaling_off", "scaling by √d_k"), box("positions_off", "positions")),
    h("div", {class: "row"}, h("span", {class: "quiet"}, "source words"), tokens.map((token, place) => press("hidden_source", place, word(token.text), `Source token ${place + 1}, ${word(token.text)}`))),
    h("div", {class: "layers"},
      h("div", {}, Array.from({length: encoder}, (_, number) => layer("encoder", number + 1, ["encoder"]))),
      h("div", {}, Array.from({length: decoder}, (_, number) => layer("decoder", number + 1, ["decoder", "cross"])))),
    (state.sw.edited ?? []).length ? h("div", {class: "row"}, h("span", {class: "quiet"}, "edited weights"), state.sw.edited.map((edit) =>
      h("button", {type: "button", disabled: isExported, onclick: () => editWeight({...edit, weight: null})}, `${ATTENTIONS[edit.kind]}, layer ${edit.layer}, head ${edit.head}, (${edit.row + 1}, ${edit.column + 1}) = ${edit.weight} ✕`)),
      h("span", {class: "quiet"}, "Those of one row that are more than 1 together are divided by their sum.")) : null);
}
