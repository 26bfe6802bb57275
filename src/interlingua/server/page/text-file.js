// A file that somebody drops or chooses, read as text.

import {Refused} from "./api.js";

/** The text of a file; `others` names what else could be taken. What is no text is refused, never shown as signs. */
export async function readText(file, others = "") {
  let text = "\0";
  try {
    text = new TextDecoder("utf-8", {fatal: true}).decode(await file.arrayBuffer());
  } catch { /* no UTF-8 */ }
  if (text.includes("\0")) throw new Refused(`${file.name} is no text in UTF-8${others}.`);
  return text;
}
