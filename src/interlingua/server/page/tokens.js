// From tokens to words: which pieces belong together, and matrices between words instead of pieces.

import {word} from "./dom.js";

/** The text that a group of tokens covers: their places are counted in characters, not in halves of surrogate pairs. */
export function textOf(text, tokens, group) {
  return Array.from(text).slice(tokens[group[0]].start, tokens[group.at(-1)].end).join("");
}

/** Groups of token places, one a word; the end symbol stands alone, and so does the tag of a language, but not the mark that a word begins with. */
export function wordsOf(text, tokens) {
  const groups = [], characters = Array.from(text);
  const isAlone = (token) => token.start === token.end && token.text !== "▁";
  tokens.forEach((token, place) => {
    const isRest = place > 0 && token.start < tokens[place - 1].end; // of a character that the token before began
    const begins = place === 0 || token.start === token.end || isAlone(tokens[place - 1]) || (!isRest && /\s/.test(characters[token.start]));
    if (begins) groups.push([place]);
    else groups.at(-1).push(place);
  });
  return groups;
}

/** Whether a group covers any text: the end symbol does not, nor does the tag of a language. */
export function isShown(tokens, group) {
  return tokens[group[0]].start !== tokens[group.at(-1)].end;
}

/** What a group of tokens is called: the text that it covers, or its pieces where that is none, or half a character. */
export function label(text, tokens, group) {
  const covered = textOf(text, tokens, group).trim();
  if (covered && !covered.includes("\uFFFD")) return covered;
  return group.map((place) => tokens[place].text).join("").replaceAll("▁", " ").trim() || word(tokens[group[0]].text);
}

/** Means over the rows of a word, sums over its columns: how much a word looks at a word. */
export function byWords(values, rows, columns) {
  return rows.map((row) => columns.map((column) =>
    row.reduce((sum, r) => sum + column.reduce((inner, c) => inner + values[r][c], 0), 0) / row.length));
}

/** The words of both sides of an opened sentence, how much each of the target looks at each of the source, and which belong together. */
export function alignedWords(part) {
  const named = (text, tokens) => (group) => ({group, text: label(text, tokens, group)});
  const shown = (text, tokens) => wordsOf(text, tokens).filter((group) => isShown(tokens, group)).map(named(text, tokens));
  const sources = shown(part.source, part.source_tokens);
  const targets = shown(part.target, part.target_tokens).map((each) => ({...each, probability: Math.exp(Math.min(...each.group.map((place) => part.log_probabilities[place])))}));
  const looks = targets.map((target) => sources.map((source) =>
    target.group.reduce((sum, t) => sum + source.group.reduce((inner, c) => inner + part.alignment[t][c], 0), 0) / target.group.length));
  return {sources, targets, looks, linked: (t, c) => looks[t][c] >= 0.5 * Math.max(...looks[t]) && looks[t][c] > 0.1};
}
