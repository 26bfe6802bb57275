// What is being looked at. It stands in the address, so that a link opens exactly this.

const USUAL = {
  view: "translate", m: 0, from: "", to: "", t: "", target: null, w: null, a: null, pin: [], whole: false, alt: [], typed: "", force: [], ban: [], cut: [],
  sw: {}, kind: "cross", layer: null, head: null, words: false, slope: false, place: 0, row: 0, column: 0, ckpt: null, token: null,
  side: "source", probs: false, other: null, cmp: null,
};
/** Values of which one holds. */
const ONE_OF = {kind: ["encoder", "decoder", "cross"], side: ["source", "target"]};
const listeners = new Set();

export const VIEWS = ["translate", "attention", "tree", "steps", "how", "map", "file"];

/** What a saved page was looking at. */
const saved = JSON.parse(document.getElementById("answers")?.textContent || "{}").state ?? {};

function read() {
  const [view, query] = location.hash.replace(/^#/, "").split("?");
  const found = {...structuredClone(USUAL), ...saved};
  if (VIEWS.includes(view)) found.view = view;
  for (const [name, text] of new URLSearchParams(query ?? "")) {
    if (!Object.hasOwn(USUAL, name) || name === "view") continue;
    const value = parse(text, USUAL[name]);
    if (value !== undefined && (ONE_OF[name]?.includes(value) ?? true)) found[name] = value;
  }
  return found;
}

/** Read one value; what has not the form of the usual one is left out, whoever made the link. */
function parse(text, usual) {
  if (typeof usual === "string") return text;
  try {
    const value = JSON.parse(text);
    if (usual === null) return value === null || ["number", "string"].includes(typeof value) || typeof value === "object" ? value : undefined;
    if (Array.isArray(usual) !== Array.isArray(value) || typeof usual !== typeof value || value === null) return undefined;
    return value;
  } catch {
    return typeof usual === "object" && usual === null ? text : undefined;
  }
}

function write() {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (name === "view" || JSON.stringify(value) === JSON.stringify((saved[name] ?? USUAL[name]))) continue;
    query.set(name, typeof USUAL[name] === "string" ? value : JSON.stringify(value));
  }
  const text = query.toString();
  return `#${state.view}${text ? `?${text}` : ""}`;
}

export const state = read();

/** Change what is looked at; `remember` makes it a step that the browser's Back undoes. */
export function set(changes, {remember = false} = {}) {
  if ("t" in changes && changes.t !== state.t) {
    changes = {target: null, pin: [], whole: false, alt: [], typed: "", force: [], ban: [], cut: [], cmp: null, place: 0, row: 0, column: 0, ...changes};
    changes.sw ??= ofAnySentence(state.sw);
  }
  if (Object.entries(changes).every(([name, value]) => JSON.stringify(state[name]) === JSON.stringify(value))) return;
  Object.assign(state, changes);
  history[remember ? "pushState" : "replaceState"](null, "", write());
  tell(Object.keys(changes));
}

/** What another model changes: what was chosen in the one before says nothing of it, and it has its own languages. */
export function ofModel(m) {
  return {m, from: "", to: "", target: null, sw: {}, layer: null, head: null, ckpt: null, token: null, other: null,
    pin: [], whole: false, alt: [], typed: "", force: [], ban: [], cut: [], cmp: null};
}

/** Be told of every change, by the names of what changed. */
export function listen(listener) {
  listeners.add(listener);
}

function tell(names) {
  for (const listener of listeners) listener(names);
}

/** The address of exactly this. */
export function link() {
  return new URL(write(), location.href).href;
}

/** The address of another view of the same. */
export function linkTo(view) {
  const query = write().split("?")[1];
  return `#${view}${query ? `?${query}` : ""}`;
}

addEventListener("popstate", () => {
  Object.assign(state, read());
  tell(Object.keys(USUAL));
});

/** What is switched off or edited, without what is empty: the form in which the server takes it. */
export function switches(of = state.sw) {
  return Object.fromEntries(Object.entries(of).filter(([, value]) => (Array.isArray(value) ? value.length : value)));
}

/** Of what is switched off or edited, what names no place of one sentence. */
export function ofAnySentence({hidden_source: _h, edited: _e, ...rest}) {
  return rest;
}
