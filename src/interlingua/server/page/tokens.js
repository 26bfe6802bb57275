// From tokens to words: which pieces belong together, and matrices between words instead of pieces.

import {word} from "./dom.js";

/** Groups of token places, one a word; the end symbol stands alone. */
export function wordsOf(text, tokens) {
  const groups = [];
  tokens.forEach((token, place) => {
    const begins = place === 0 || /^\s/.test(text.slice(token.start, token.end)) || token.start === token.end;
    if (begins) groups.push([place]);
    else groups.at(-1).push(place);
  });
  return groups;
}

/** The label of a group of tokens. */
export function label(tokens, group) {
  return group.map((place) => tokens[place].text).join("").replaceAll("▁", " ").trim() || word(tokens[group[0]].text);
}

/** Means over the rows of a word, sums over its columns: how much a word looks at a word. */
export function byWords(values, rows, columns) {
  return rows.map((row) => columns.map((column) =>
    row.reduce((sum, r) => sum + column.reduce((inner, c) => inner + values[r][c], 0), 0) / row.length));
}
