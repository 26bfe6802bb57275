// Embeddings along their principal components with nearest neighbours, and positions.

import {h, s, choice, number, word} from "./dom.js";
import {state, set} from "./state.js";
import {ask} from "./api.js";
import {View} from "./view.js";
import {strip} from "./heat.js";

const WIDE = 720, HIGH = 520, NAMED = 70;

class MapView extends View {
  watches = ["m", "token", "side"];

  async ask(signal) {
    const [embeddings, positions] = await Promise.all([
      ask("embeddings", {model: state.m}, {signal}), ask("positions", {model: state.m}, {signal})]);
    const near = state.token === null ? null : await ask("neighbours", {model: state.m, id: state.token, side: state.side === "source" ? null : state.side}, {signal});
    return {embeddings, positions, near};
  }

  show({embeddings, positions, near}) {
    const side = embeddings.sides[state.side] ?? embeddings.sides.source;
    const place = new Map(side.ids.map((id, n) => [id, n]));
    const chosen = state.token;
    const find = h("input", {type: "search", list: "tokens", value: chosen !== null && place.has(chosen) ? word(side.tokens[place.get(chosen)]) : "",
      onchange: (event) => {
        const wanted = event.target.value.trim();
        const found = side.tokens.findIndex((each) => word(each) === wanted);
        if (found >= 0) set({token: side.ids[found]}, {remember: true});
        else this.message.textContent = `“${wanted}” is no token of this vocabulary; longer words are cut into several.`;
      }});
    return [
      h("h2", {}, "Embeddings"),
      h("p", {}, `${side.size.toLocaleString("en")} tokens${embeddings.shared ? ", of both languages in one table" : ""}, along the first two principal components of their vectors (${number(100 * side.explained[0], 1)} % and ${number(100 * side.explained[1], 1)} % of the variance).`),
      h("div", {class: "controls"},
        embeddings.shared ? null : choice("Side", "map-side", [["source", "source"], ["target", "target"]], state.side, (value) => set({side: value, token: null})),
        h("label", {class: "field"}, h("span", {class: "label"}, "Find a token"), find),
        h("datalist", {id: "tokens"}, side.tokens.slice(0, 1500).map((token) => h("option", {value: word(token)})))),
      h("div", {class: "beside"}, this.plot(side, chosen, near), near ? this.neighbours(near) : h("p", {class: "quiet"}, "Choose a token to see whose vectors point the same way.")),
      h("h2", {}, "Positions"),
      this.positions(positions),
    ];
  }

  plot(side, chosen, near) {
    const xs = side.coordinates.map((each) => each[0]), ys = side.coordinates.map((each) => each[1] ?? 0);
    const scale = (values, size) => { const low = Math.min(...values), high = Math.max(...values); return (value) => 20 + (size - 40) * (value - low) / (high - low || 1); };
    const x = scale(xs, WIDE), y = scale(ys, HIGH);
    const close = new Set(near?.neighbours.map((each) => each.id));
    const taken = [];
    const names = [], points = [];
    const order = side.ids.map((_, n) => n).sort((a, b) => (side.ids[b] === chosen) - (side.ids[a] === chosen) || close.has(side.ids[b]) - close.has(side.ids[a]) || a - b);
    order.forEach((n, rank) => {
      const id = side.ids[n], [px, py] = [x(xs[n]), HIGH - y(ys[n])];
      const kind = id === chosen ? "chosen" : close.has(id) ? "close" : "";
      points.push(s("circle", {cx: px.toFixed(1), cy: py.toFixed(1), r: kind ? 5 : 2.4, class: `point ${kind}`, "data-id": id}, s("title", {}, word(side.tokens[n]))));
      if (rank > NAMED && !kind) return;
      const box = [px + 5, py - 11, px + 9 + 7 * word(side.tokens[n]).length, py + 4];
      if (kind === "" && taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) return;
      taken.push(box);
      names.push(s("text", {x: px + 6, y: py + 4, "font-size": 12, class: `name ${kind}`}, word(side.tokens[n])));
    });
    const picture = s("svg", {viewBox: `0 0 ${WIDE} ${HIGH}`, class: "map", role: "img",
      "aria-label": `Map of ${side.ids.length} tokens${chosen === null ? "" : `; ${near.token} and its neighbours are marked`}`}, points.reverse(), names);
    picture.addEventListener("click", (event) => {
      const id = event.target.dataset?.id;
      if (id) set({token: Number(id)}, {remember: true});
    });
    return h("figure", {}, picture);
  }

  neighbours(near) {
    return h("section", {}, h("h3", {}, `Nearest to “${word(near.token)}”`), h("ol", {class: "near"}, near.neighbours.map((each) => h("li", {},
      h("button", {type: "button", class: "plain", onclick: () => set({token: each.id}, {remember: true})}, word(each.text)), h("span", {class: "quiet"}, ` cosine ${number(each.cosine)}`)))));
  }

  positions(positions) {
    const {mean, least, greatest} = positions.by_distance;
    const low = Math.min(0, ...least), high = Math.max(...greatest);
    const x = (k) => 46 + 650 * k / (mean.length - 1), y = (value) => 190 - 170 * (value - low) / (high - low || 1);
    const line = (values) => values.map((value, k) => `${k ? "L" : "M"}${x(k).toFixed(1)} ${y(value).toFixed(1)}`).join("");
    return [
      h("p", {}, positions.kind === "sinusoidal" ? "PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d)): fast waves on the left, slow ones on the right. One row a position." : "Learnt vectors, one row a position."),
      strip(positions.vectors, "Positional encodings", {height: 4}),
      h("p", {}, "The dot product of two positions by their distance", positions.kind === "sinusoidal" ? ": it depends on nothing else." : ": its mean, and between the least and the greatest."),
      h("figure", {}, s("svg", {viewBox: "0 0 710 220", class: "curve", role: "img", "aria-label": `Dot product by distance: ${number(mean[0], 1)} at distance 0, ${number(mean.at(-1), 1)} at distance ${mean.length - 1}`},
        s("path", {class: "band", d: `${line(greatest)}${least.map((value, k) => `L${x(least.length - 1 - k).toFixed(1)} ${y(least[least.length - 1 - k]).toFixed(1)}`).join("")}Z`}),
        s("path", {class: "line", d: line(mean)}),
        s("line", {class: "axis", x1: 46, x2: 696, y1: y(0), y2: y(0)}),
        [low, high].map((value) => s("text", {x: 40, y: y(value) + 4, "font-size": 12, "text-anchor": "end"}, number(value, 0))),
        [0, mean.length - 1].map((k) => s("text", {x: x(k), y: 210, "font-size": 12, "text-anchor": k ? "end" : "start"}, `distance ${k}`)))),
    ];
  }
}

customElements.define("look-map", MapView);
