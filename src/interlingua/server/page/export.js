// What is shown, as a file: pictures as SVG or PNG, numbers as JSON, or all of it as one page that opens without a network.

import {h} from "./dom.js";
import {state} from "./state.js";
import {answers, isExported} from "./api.js";

const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight", "text-decoration", "visibility"];

/** Hand a file to whoever looks. */
export function save(name, content, type) {
  const address = URL.createObjectURL(new Blob([content], {type}));
  const anchor = h("a", {href: address, download: name});
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A copy of a picture that carries its colours with it. */
function standalone(picture) {
  const copy = picture.cloneNode(true);
  const [own, copied] = [[picture, ...picture.querySelectorAll("*")], [copy, ...copy.querySelectorAll("*")]];
  own.forEach((element, n) => {
    const computed = getComputedStyle(element);
    for (const name of STYLES) copied[n].setAttribute(name, computed.getPropertyValue(name));
    for (const name of ["class", "tabindex", "role", "aria-hidden"]) copied[n].removeAttribute(name);
  });
  const box = picture.viewBox.baseVal;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", box.width);
  copy.setAttribute("height", box.height);
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({width: box.width, height: box.height, fill: getComputedStyle(document.body).backgroundColor})) ground.setAttribute(name, value);
  copy.prepend(ground);
  return new XMLSerializer().serializeToString(copy);
}

async function png(text, box) {
  const image = new Image();
  const address = URL.createObjectURL(new Blob([text], {type: "image/svg+xml"}));
  try {
    await new Promise((done, failed) => { image.onload = done; image.onerror = () => failed(new Error("the picture cannot be drawn")); image.src = address; });
    const canvas = h("canvas", {width: 2 * box.width, height: 2 * box.height});
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done) => canvas.toBlob(done, "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** The whole page as one file: the page itself, and every answer about this sentence. */
async function page() {
  const blank = await (await fetch("inspect/page")).text();
  const about = answers((name, {text, q}) => state.t.includes(text ?? q ?? ""));
  const held = JSON.stringify({state: {...state}, lines: document.getElementById("lines")?.value, answers: about}).replaceAll("<", "\\u003c");
  return blank.replace("/* answers */", () => held);
}

/** The bar at the foot of every view. */
export function exportBar(view) {
  const said = h("output", {"aria-live": "polite"});
  const act = (text, run) => h("button", {type: "button", onclick: async () => {
    said.textContent = "";
    try { said.textContent = await run(); } catch (error) { said.textContent = `That did not work: ${error.message}`; }
  }}, text);
  const each = async (kind, write) => {
    const shown = [...(view()?.querySelectorAll("figure svg") ?? [])];
    const drawn = shown.length ? [] : view()?.pictures?.() ?? [];
    const found = [...shown, ...drawn];
    if (!found.length) return "There is nothing to draw yet.";
    const easel = h("div", {class: "hidden", "aria-hidden": "true"}, drawn); // styles reach only what is in the document
    document.body.append(easel);
    try {
      for (const [n, picture] of found.entries()) await write(picture, `${state.view}${found.length > 1 ? `-${n + 1}` : ""}.${kind}`);
    } finally {
      easel.remove();
    }
    return `Saved ${found.length === 1 ? "one picture" : `${found.length} pictures`}.`;
  };
  return h("section", {class: "export row", "aria-label": "Save this view"}, h("span", {class: "label"}, "Save this view as"),
    act("SVG", () => each("svg", (picture, name) => save(name, standalone(picture), "image/svg+xml"))),
    act("PNG", () => each("png", async (picture, name) => save(name, await png(standalone(picture), picture.viewBox.baseVal), "image/png"))),
    act("JSON", async () => { const content = view()?.answer; if (!content) return "There is nothing to save yet."; save(`${state.view}.json`, `${JSON.stringify(content, null, 1)}\n`, "application/json"); return "Saved."; }),
    isExported ? null : act("one HTML page", async () => { save("interlingua.html", await page(), "text/html"); return "Saved: the page opens without a network."; }), said);
}
