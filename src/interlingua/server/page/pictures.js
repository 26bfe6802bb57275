// Pictures of what a view shows as text: they are drawn only to be saved.

import {s, doubt, percent, word} from "./dom.js";
import {textWidth} from "./heat.js";
import {alignedWords} from "./tokens.js";

const GAP = 8, BETWEEN = 96, SHARES = ["90 % and more", "less than 90 %", "less than 60 %", "less than 30 %", "less than 10 %"];

/** Boxes of words, one after another. */
function row(words, y) {
  let x = 10;
  return words.map(({text, level}) => {
    const width = 16 + textWidth(text), box = {x, width, middle: x + width / 2};
    box.drawn = s("g", {class: level === null ? "" : `doubt-${level}`, transform: `translate(${x} ${y})`},
      s("rect", {y: -15, width, height: 24, rx: 5}), s("text", {x: width / 2, y: 2, "font-size": 14, "text-anchor": "middle"}, text));
    x += width + GAP;
    return box;
  });
}

/** Every sentence above its translation: a colour is a word's probability, a line what it was aligned with. */
export function wordsPicture(parts, name) {
  const drawn = [];
  let wide = 620, y = 30;
  for (const part of parts) {
    const {sources, targets, looks, linked} = alignedWords(part);
    const above = row(sources.map(({text}) => ({text, level: null})), y);
    const below = row(targets.map(({text, probability}) => ({text, level: doubt(probability)})), y + BETWEEN);
    const lines = below.flatMap((target, t) => above.flatMap((source, c) => linked(t, c) ? [s("line", {class: "link",
      x1: source.middle, y1: y + 10, x2: target.middle, y2: y + BETWEEN - 16, "stroke-width": (0.6 + 2.6 * looks[t][c]).toFixed(2)})] : []));
    drawn.push(...lines, ...[...above, ...below].map((each) => each.drawn));
    wide = Math.max(wide, ...[...above, ...below].map((each) => each.x + each.width + 10));
    y += BETWEEN + 62;
  }
  const legend = SHARES.map((text, level) => s("g", {class: `doubt-${level}`, transform: `translate(${10 + 120 * level} ${y - 8})`},
    s("rect", {y: -10, width: 12, height: 12, rx: 3}), s("text", {x: 17, y: 0, "font-size": 11}, text)));
  return s("svg", {viewBox: `0 0 ${Math.ceil(wide)} ${y + 8}`, class: "words", role: "img", "aria-label": name}, drawn, legend);
}

/** The candidates of one step as bars, of the model and of what each layer would have said. */
export function barsPicture(sections, chosen, name) {
  const drawn = [s("text", {x: 10, y: 24, "font-size": 15, "font-weight": 600}, name)];
  let y = 52;
  for (const {title, guess} of sections) {
    drawn.push(s("text", {x: 10, y, "font-size": 13, "font-weight": 600}, title));
    for (const candidate of guess.candidates) {
      const probability = Math.exp(candidate.log_probability);
      y += 22;
      drawn.push(s("g", {class: candidate.id === chosen ? "bar chosen" : "bar", transform: `translate(0 ${y})`},
        s("text", {x: 140, y: 0, "font-size": 13, "text-anchor": "end"}, word(candidate.text)),
        s("rect", {class: "track", x: 150, y: -11, width: 340, height: 12, rx: 3}),
        s("rect", {x: 150, y: -11, width: Math.max(2, 340 * probability).toFixed(1), height: 12, rx: 3}),
        s("text", {x: 500, y: 0, "font-size": 13}, percent(probability))));
    }
    y += 36;
  }
  return s("svg", {viewBox: `0 0 570 ${y - 10}`, class: "shares", role: "img", "aria-label": name}, drawn);
}
