// Questions to the server, or to the answers that stand in an exported file.

import {language} from "./dom.js";

/** Answers by question, for the file that is exported. */
const known = new Map();
const held = document.getElementById("answers");
export const isExported = Boolean(held?.textContent.trim());

if (isExported) {
  for (const {name, body, answer} of JSON.parse(held.textContent).answers) known.set(key(name, body), {name, body, answer});
}

export class Refused extends Error {}

function key(name, body) {
  const sorted = (value) => {
    if (Array.isArray(value)) return value.map(sorted);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.keys(value).sort().map((each) => [each, sorted(value[each])]));
  };
  return `${name} ${JSON.stringify(sorted(body))}`;
}

/** Leave out what says nothing, so that the same question is always written the same. */
function brief(body) {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => {
    if (value === null || value === undefined || value === "" || value === 0) return false;
    return typeof value !== "object" || (Array.isArray(value) ? value.length > 0 : Object.keys(value).length > 0);
  }));
}

/** Ask one question of the inspection; an answer that was given before is given again. */
export async function ask(name, question, {signal, keep = true} = {}) {
  const body = brief(question);
  const found = known.get(key(name, body));
  if (found) return found.answer;
  if (isExported) throw new Refused("This file holds what was on the page when it was saved. Open the live page to ask for more.");
  const answer = await post(`inspect/${name}`, body, signal);
  if (keep) {
    known.set(key(name, body), {name, body, answer});
    if (known.size > 200) known.delete(known.keys().next().value);
  }
  return answer;
}

async function post(path, body, signal) {
  let response;
  try {
    response = await fetch(path, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body), signal});
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The server does not answer. Is it still running?");
  }
  const content = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(String(content.error ?? `the server answered ${response.status}`));
  return content;
}

/** The models: their languages, with names, and their own. */
export async function models() {
  const {models: found} = await ask("models", {});
  return found.map((model) => ({...model, source_name: language(model.source_lang), target_name: language(model.target_lang)}));
}

/** What was asked and answered since the sentence changed: what an exported file needs. */
export function answers(wanted) {
  return [...known.values()].filter(({name, body}) => wanted(name, body));
}
