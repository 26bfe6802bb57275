// A beam tree as a picture: steps from left to right, the better branch above. Arrow keys walk through it.

import {h, s, doubt, percent, word} from "./dom.js";

const STEP_GAP = 26, LINE = 25, MOST_PRUNED = 3;

/** Width of a node. */
function size(node) {
  return node.parent === null ? 48 : 36 + 8.4 * word(node.text).length;
}

/**
 * Place every shown node: each way to a kept end has a lane, the best above; what leads nowhere stands below the node that
 * was taken in its place.
 */
function place(tree, showPruned) {
  const goesOn = (node) => node.state === "kept" || node.state === "finished" || node.state === "begin";
  const children = tree.nodes.map(() => []), ends = tree.nodes.map(() => []);
  tree.nodes.forEach((node, index) => {
    if (node.parent === null) return;
    if (goesOn(node)) children[node.parent].push(index);
    else if (showPruned || node.state === "forbidden") ends[node.parent].push(index);
  });
  const best = new Set();
  if (tree.finished.length) for (let at = tree.finished[0].node; at !== null; at = tree.nodes[at].parent) best.add(at);
  const byWorth = (a, b) => best.has(b) - best.has(a) || tree.nodes[b].total - tree.nodes[a].total;
  children.forEach((each) => each.sort(byWorth));
  ends.forEach((each, index) => { ends[index] = each.sort((a, b) => (tree.nodes[b].state === "forbidden") - (tree.nodes[a].state === "forbidden") || byWorth(a, b)).slice(0, MOST_PRUNED); });
  const widths = [];
  tree.nodes.forEach((node) => { widths[node.length] = Math.max(widths[node.length] ?? 0, size(node)); });
  const starts = [8];
  widths.forEach((each, length) => { starts[length + 1] = starts[length] + each + STEP_GAP; });
  const at = new Map();
  const put = (index, y) => at.set(index, {x: starts[tree.nodes[index].length], y, width: size(tree.nodes[index])});
  let y = 20, depth = 0;
  const walk = (index) => { // along one lane as far as it goes; side branches get lanes below
    put(index, y);
    const own = children[index];
    ends[index].forEach((end, n) => put(end, y + LINE * (n + (own.length ? 1 : 0))));
    depth = Math.max(depth, ends[index].length + (own.length ? 1 : 0));
    own.forEach((child, n) => {
      if (n) { y += LINE * Math.max(1, depth) + 6; depth = 0; }
      walk(child);
    });
  };
  walk(0);
  const shown = children.map((each, index) => [...each, ...ends[index]]);
  return {children: shown, best, at, wide: starts.at(-1), high: y + LINE * Math.max(1, depth) + 8};
}

/** Draw a tree; `pick` is called with the place of the node that somebody chooses. */
export function drawTree(tree, {name, showPruned = true, pick = null}) {
  const {children, best, at, wide, high} = place(tree, showPruned);
  const lines = [], groups = new Map();
  for (const [index, spot] of at) {
    const node = tree.nodes[index];
    if (node.parent !== null) {
      const from = at.get(node.parent), x = from.x + from.width, middle = (x + spot.x) / 2;
      lines.push(s("path", {d: `M${x} ${from.y} C${middle} ${from.y} ${middle} ${spot.y} ${spot.x} ${spot.y}`,
        class: `edge ${node.state}${best.has(index) ? " best" : ""}`, "stroke-width": (0.8 + 3 * Math.exp(node.log_probability)).toFixed(2)}));
    }
    const probability = Math.exp(node.log_probability);
    const text = node.parent === null ? "begin" : word(node.text);
    groups.set(index, s("g", {class: `node ${node.state} doubt-${doubt(probability)}${best.has(index) ? " best" : ""}`, transform: `translate(${spot.x} ${spot.y})`,
      role: pick ? "button" : null, tabindex: pick ? (index ? -1 : 0) : null, "data-node": index,
      "aria-label": pick ? `${text}, ${node.parent === null ? "" : `${percent(probability)}, `}${node.state}, step ${node.length}` : null},
      s("rect", {y: -10, width: spot.width, height: 20, rx: 6}),
      s("text", {x: 6, y: 4.5, "font-size": 13}, text),
      node.parent === null ? null : s("text", {x: spot.width - 5, y: 4, class: "share", "font-size": 10, "text-anchor": "end"}, String(Math.round(100 * probability)))));
  }
  const picture = s("svg", {viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, class: "beam", role: "group", "aria-label": `${name}: ${tree.steps} steps, beam of ${tree.beam_size}`}, lines, [...groups.values()]);
  const go = (index) => {
    if (index === undefined || !groups.has(index)) return;
    for (const group of groups.values()) group.setAttribute("tabindex", -1);
    groups.get(index).setAttribute("tabindex", 0);
    groups.get(index).focus();
  };
  if (pick) {
    picture.addEventListener("click", (event) => {
      const group = event.target.closest("[data-node]");
      if (group) { go(Number(group.dataset.node)); pick(Number(group.dataset.node)); }
    });
    picture.addEventListener("keydown", (event) => {
      const group = event.target.closest("[data-node]");
      if (!group) return;
      const index = Number(group.dataset.node), {parent, length} = tree.nodes[index];
      const column = [...at.keys()].filter((each) => tree.nodes[each].length === length).sort((a, b) => at.get(a).y - at.get(b).y);
      const next = {ArrowRight: children[index][0], ArrowLeft: parent ?? undefined,
        ArrowDown: column[column.indexOf(index) + 1], ArrowUp: column[column.indexOf(index) - 1]}[event.key];
      if (next !== undefined) { event.preventDefault(); go(next); }
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(index); }
    });
  }
  return h("div", {class: "scroll", tabindex: pick ? null : 0, role: pick ? null : "region", "aria-label": pick ? null : name}, picture);
}
