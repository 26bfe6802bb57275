// A file that somebody drops or chooses, read as text.

import {h} from "./dom.js";
import {Refused, SAVED, isExported} from "./api.js";

/** A button that lets somebody choose a file. */
export function fileButton(id, accept, open) {
  return [h("input", {type: "file", id, class: "hidden", accept, disabled: isExported, onchange: (event) => open(event.target.files[0])}),
    h("label", {for: id, class: "button"}, "Open a file")];
}

/** The text of a file, or nothing where it is no text in UTF-8: that is never shown as signs. */
export async function plainText(file) {
  if (isExported) throw new Refused(SAVED);
  try {
    const text = new TextDecoder("utf-8", {fatal: true}).decode(await file.arrayBuffer());
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}
