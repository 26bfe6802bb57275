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

/** Whether a group covers any text: the end symbol does not. */
export function isShown(tokens, group) {
  return tokens[group[0]].start !== tokens[group.at(-1)].end;
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

/** The words of both sides of an opened sentence, how much each of the target looks at each of the source, and which belong together. */
export function alignedWords(part) {
  const named = (tokens) => (group) => ({group, text: label(tokens, group)});
  const sources = wordsOf(part.source, part.source_tokens).slice(0, -1).map(named(part.source_tokens));
  const targets = wordsOf(part.target, part.target_tokens).filter((group) => isShown(part.target_tokens, group))
    .map(named(part.target_tokens)).map((each) => ({...each, probability: Math.exp(Math.min(...each.group.map((place) => part.log_probabilities[place])))}));
  const looks = targets.map((target) => sources.map((source) =>
    target.group.reduce((sum, t) => sum + source.group.reduce((inner, c) => inner + part.alignment[t][c], 0), 0) / target.group.length));
  return {sources, targets, looks, linked: (t, c) => looks[t][c] >= 0.5 * Math.max(...looks[t]) && looks[t][c] > 0.1};
}
