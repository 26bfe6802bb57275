// A matrix as a picture: rows look at columns, dark where the weight is great. Arrow keys walk through it.

import {h, s, number} from "./dom.js";

const LABEL = 13;

/** Width of a label in the units of the picture, near enough for every script. */
export function textWidth(text) {
  let size = 0;
  for (const character of text) size += character.codePointAt(0) > 0x2e80 ? 14 : 8.4;
  return size;
}

/**
 * Draw rows by columns.
 * options: rows, columns (labels), values, name, signed, most (the value of the darkest), cell (pixels), chosen ([row, column]),
 * pick(row, column), marked (a set of "row,column").
 */
export function heat({rows, columns, values, name, signed = false, most = 1, cell = 32, chosen = null, pick = null, digits = 3, marked = new Set()}) {
  const left = 10 + Math.max(20, ...rows.map(textWidth));
  const top = 14 + Math.max(20, ...columns.map(textWidth)) * 0.78;
  const wide = left + columns.length * cell + 40, high = top + rows.length * cell + 4;
  const cells = values.map((line, r) => line.map((value, c) => s("rect", {
    x: left + c * cell, y: top + r * cell, width: cell - 1, height: cell - 1, rx: 2,
    class: signed && value < 0 ? "cell against" : "cell",
    "fill-opacity": Math.min(1, Math.abs(value) / most).toFixed(3), "data-r": r, "data-c": c,
  }, s("title", {}, `${rows[r]} → ${columns[c]}: ${number(value, digits)}`))));
  const cursor = s("rect", {class: "cursor", width: cell - 1, height: cell - 1, rx: 2, visibility: "hidden"});
  const picture = s("svg", {viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, class: "heat", "aria-hidden": "true"},
    s("rect", {class: "ground", x: left - 1, y: top - 1, width: columns.length * cell + 1, height: rows.length * cell + 1}),
    cells,
    [...marked].map((place) => {
      const [r, c] = place.split(",").map(Number);
      return s("rect", {class: "edited", x: left + c * cell, y: top + r * cell, width: cell - 1, height: cell - 1, rx: 2});
    }),
    rows.map((label, r) => s("text", {x: left - 7, y: top + r * cell + cell / 2 + 4, class: "row", "font-size": LABEL, "text-anchor": "end"}, label)),
    columns.map((label, c) => s("text", {class: "column", "font-size": LABEL,
      transform: `translate(${left + c * cell + cell / 2 + 2} ${top - 7}) rotate(-50)`}, label)),
    cursor);
  const told = h("output", {class: "told", "aria-live": "polite"});
  const at = {r: -1, c: -1};

  function go(r, c, choose = false) {
    if (r < 0 || c < 0 || r >= rows.length || c >= columns.length) return;
    Object.assign(at, {r, c});
    cursor.setAttribute("x", left + c * cell);
    cursor.setAttribute("y", top + r * cell);
    cursor.setAttribute("visibility", "visible");
    told.textContent = `${rows[r]} → ${columns[c]}: ${number(values[r][c], digits)}`;
    if (choose && pick) pick(r, c);
  }

  const find = (event) => {
    const target = event.target.closest?.("[data-r]");
    return target ? [Number(target.dataset.r), Number(target.dataset.c)] : null;
  };
  picture.addEventListener("pointerover", (event) => { const found = find(event); if (found) go(...found); });
  picture.addEventListener("click", (event) => { const found = find(event); if (found) go(...found, true); });
  const frame = h("div", {class: "scroll", tabindex: 0, role: "group",
    "aria-label": `${name}. ${rows.length} rows, ${columns.length} columns. Arrow keys walk through it${pick ? ", Enter chooses" : ""}.`}, picture);
  frame.addEventListener("keydown", (event) => {
    const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
    if (step) {
      event.preventDefault();
      go(Math.max(0, at.r + step[0] + (at.r < 0 && step[0] <= 0 ? 1 : 0)), Math.max(0, at.c + step[1] + (at.c < 0 && step[1] <= 0 ? 1 : 0)));
    } else if (event.key === "Enter" && at.r >= 0 && pick) {
      pick(at.r, at.c);
    }
  });
  if (chosen) go(...chosen);
  return h("figure", {class: "heat-map"}, frame, told);
}

/** A small picture of a matrix without labels. */
export function thumbnail(values, most, size = 92) {
  const rows = values.length, columns = values[0]?.length ?? 1;
  return s("svg", {viewBox: `0 0 ${columns} ${rows}`, width: size, height: size, preserveAspectRatio: "none", class: "heat", "aria-hidden": "true"},
    s("rect", {class: "ground", width: columns, height: rows}),
    values.map((line, r) => line.map((value, c) => value / most < 0.02 ? null : s("rect", {
      x: c, y: r, width: 1.02, height: 1.02, class: "cell", "fill-opacity": Math.min(1, value / most).toFixed(2)}))));
}

/** Many numbers as a strip of colours, one row a vector: for vectors that are too long to name every number. */
export function strip(vectors, name, {most = null, height = 8} = {}) {
  const limit = most ?? Math.max(1e-9, ...vectors.flat().map(Math.abs));
  const canvas = h("canvas", {width: vectors[0].length, height: vectors.length, role: "img",
    "aria-label": `${name}: ${vectors.length} rows of ${vectors[0].length} numbers, within ±${number(limit)}`, class: "strip"});
  canvas.style.height = `${Math.max(12, vectors.length * height)}px`;
  const style = getComputedStyle(document.documentElement);
  const [plus, minus] = ["--plus", "--minus"].map((each) => style.getPropertyValue(each).trim().split(/\s+/).map(Number));
  const context = canvas.getContext("2d");
  const image = context.createImageData(vectors[0].length, vectors.length);
  vectors.flat().forEach((value, place) => {
    const colour = value < 0 ? minus : plus;
    image.data.set([...colour, Math.round(255 * Math.min(1, Math.abs(value) / limit))], 4 * place);
  });
  context.putImageData(image, 0, 0);
  return canvas;
}
