// A file that somebody drops or chooses, read as text.

import {h} from "./dom.js";
import {Refused, SAVED, isExported} from "./api.js";

/** A button that lets somebody choose a file. */
export function fileButton(id, accept, open) {
  return [h("input", {type: "file", id, class: "hidden", accept, disabled: isExported, onchange: (event) => open(event.target.files[0])}),
    h("label", {for: id, class: "button"}, "Open a file")];
}

/** The text of a file; `others` names what else could be taken. What is no text is refused, never shown as signs. */
export async function readText(file, others = "") {
  if (isExported) throw new Refused(SAVED);
  let text = "\0";
  try {
    text = new TextDecoder("utf-8", {fatal: true}).decode(await file.arrayBuffer());
  } catch { /* no UTF-8 */ }
  if (text.includes("\0")) throw new Refused(`${file.name} is no text in UTF-8${others}.`);
  return text;
}
