// Questions to the server, or to the answers that stand in an exported file.

import {language} from "./dom.js";

/** Answers by question, for the file that is exported. */
const known = new Map();
const held = document.getElementById("answers");
export const isExported = Boolean(held?.textContent.trim());

if (isExported) {
  for (const {name, body, answer} of JSON.parse(held.textContent).answers) keep(name, brief(body), answer);
}

export class Refused extends Error {}

/** Characters of a text that is looked into, at most. */
export const LONGEST = 2000;

/** Answers to one kind of question that are kept: what is asked with every letter never drives out what is asked once, such as the models. */
const MOST_KEPT = 250;

/** What is asked at routes that other clients use too. */
const ROUTES = ["detect", "translate"];

export const SAVED = "This file holds what was on the page when it was saved. Open the live page to ask for more.";

/** The key that a server may want; the tab remembers it, and forgets it when it is closed. */
let secret = isExported ? "" : remembered();

function remembered() {
  try {
    return sessionStorage.getItem("key") ?? "";
  } catch {
    return ""; // a browser that keeps nothing
  }
}

/** Send this key from now on. */
export function useKey(text) {
  secret = text;
  try {
    sessionStorage.setItem("key", text);
  } catch { /* then it has to be typed again */ }
}

/** Whether the server answers only who has a key. */
export async function wantsKey() {
  return (await settings()).keyRequired === true;
}

let told = null;

/** What the server tells of itself: its limits, and what files it takes. Nothing in a saved page. */
export async function settings() {
  if (!isExported) told ??= await fetch("frontend/settings").then((response) => response.json()).catch(() => null);
  return told ?? {};
}

/** Whether a key has been given; a wrong one too. */
export const hasKey = () => secret !== "";

function key(name, body) {
  const sorted = (value) => {
    if (Array.isArray(value)) return value.map(sorted);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.keys(value).sort().map((each) => [each, sorted(value[each])]));
  };
  return `${name} ${JSON.stringify(sorted(body))}`;
}

/** Leave out what says nothing, so that the same question is always written the same. 0 says something: only model 0 is who is asked anyway. */
function brief(body) {
  return Object.fromEntries(Object.entries(body).filter(([name, value]) => {
    if (value === null || value === undefined || value === "" || (name === "model" && value === 0)) return false;
    return typeof value !== "object" || (Array.isArray(value) ? value.length > 0 : Object.keys(value).length > 0);
  }));
}

/** Ask one question of the inspection, or of the routes beside it; an answer that was given before is given again. */
export async function ask(name, question, {signal} = {}) {
  const body = brief(question);
  const found = known.get(key(name, body));
  if (found) return found.answer;
  if (isExported) throw new Refused(SAVED);
  const answer = name === "ways" ? await content(reach("inspect/ways", {signal}), signal) : await post(ROUTES.includes(name) ? name : `inspect/${name}`, body, signal);
  keep(name, body, answer);
  const alike = [...known].filter(([, each]) => each.name === name);
  if (alike.length > MOST_KEPT) known.delete(alike[0][0]);
  return answer;
}

function keep(name, body, answer) {
  known.set(key(name, body), {name, body, answer});
}

async function reach(path, {headers = {}, ...how} = {}) {
  try {
    return await fetch(path, {...how, headers: {...headers, ...secret && {Authorization: `Bearer ${secret}`}}});
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The server does not answer. Is it still running?");
  }
}

async function post(path, body, signal) {
  const isForm = body instanceof FormData;
  return content(reach(path, {method: "POST", headers: isForm ? {} : {"Content-Type": "application/json"}, body: isForm ? body : JSON.stringify(body), signal}), signal);
}

async function content(answering, signal) {
  const response = await answering;
  const told = await response.json().catch(() => ({}));
  signal?.throwIfAborted();
  if (!response.ok) throw new Refused(String(told.error ?? `the server answered ${response.status}`));
  return told;
}

/** Translate a file of a form that the server knows; gives the name and the content of the translated one. */
export async function translateFile(file, {source, target}) {
  if (isExported) throw new Refused(SAVED);
  const form = new FormData();
  for (const [name, value] of Object.entries({source, target, file})) form.append(name, value);
  const {translatedFileUrl} = await post("translate_file", form);
  const shelved = translatedFileUrl.split("/").at(-1); // beside this page, whatever the server believes to be called behind a proxy
  const response = await reach(`download_file/${shelved}`);
  if (!response.ok) throw new Refused(`the server answered ${response.status}`);
  return {name: decodeURIComponent(shelved).replace(/^[^.]*\./, ""), content: await response.blob()};
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
