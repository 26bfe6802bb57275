// From the language of the text to the one that is wanted: which it was found to be in, and which models lead there.

import {h, beginning, language} from "./dom.js";
import {state, set, ofModel} from "./state.js";
import {LONGEST, ask, isExported} from "./api.js";

/** Stands for the language of the text where nobody says it. */
export const FIND = "auto";

/** Per cent from which a language is taken for that of the text though another is likelier, from which no way leads to the target: few letters tell little. */
const POSSIBLE = 10;

/** Of each two languages the models to go through, by their numbers. A saved page that holds none has its models alone. */
export async function listWays(models) {
  try {
    return (await ask("ways", {})).ways;
  } catch (error) {
    if (!isExported) throw error;
    return models.map(({source_lang: source, target_lang: target}, number) => ({source, target, models: [number]}));
  }
}

/** The codes of the languages that can be translated. */
export function sourcesOf(ways) {
  return [...new Set(ways.map((way) => way.source))];
}

/** The codes of the languages that one can be translated into, or any. */
export function targetsOf(ways, source) {
  return [...new Set(ways.filter((way) => source === FIND || way.source === source).map((way) => way.target))];
}

/** What is wanted: the source, or FIND, and the target. The model says both, unless something else was chosen. */
export function wanted(models) {
  const {source_lang: source, target_lang: target} = models[state.m];
  return {source: state.from || source, target: state.to || target};
}

/**
 * The way of the text: its languages, the numbers of the models to go through (none where no way leads), and what was found where it was
 * asked: the language and how sure that is, or nothing in a text of none of the languages here.
 */
export async function findWay(models, ways, signal) {
  const own = models[state.m], {source: told, target} = wanted(models);
  const leads = (language) => ways.some((way) => way.source === language && way.target === target);
  const found = told === FIND && state.t.trim() ? await detect(state.t, leads, signal) : null;
  const usual = own.target_lang === target ? own.source_lang : ways.find((way) => way.target === target)?.source ?? own.source_lang;
  const source = told === FIND ? found?.language ?? usual : told;
  const isOwn = own.source_lang === source && own.target_lang === target; // of several for these languages it may be any
  const numbers = isOwn ? [state.m] : ways.find((way) => way.source === source && way.target === target)?.models ?? [];
  return {source, target, found, models: numbers};
}

async function detect(text, leads, signal) {
  const ranked = await ask("detect", {q: beginning(text, LONGEST)}, {signal});
  const best = ranked.find(({language, confidence}) => confidence >= POSSIBLE && leads(language)) ?? ranked[0];
  return best.confidence > 0 ? best : null;
}

/** What changes when somebody chooses other languages; the nearest that there is where no way leads to the target. */
export async function chooseLanguages(models, ways, source, target) {
  const reached = ways.filter((way) => source === FIND || way.source === source);
  const way = reached.find((each) => each.target === target) ?? reached.find((each) => each.models.length === 1) ?? reached[0];
  if (source === FIND) return {from: FIND, to: way.target};
  const own = models[state.m], isOwn = own.source_lang === source && own.target_lang === way.target;
  const number = isOwn ? state.m : way.models[0];
  const t = own.source_lang === source ? state.t : await textFor(number);
  return {...isOwn ? {from: "", to: ""} : ofModel(number), t, ...way.models.length > 1 && {from: source, to: way.target}};
}

/** The text as it is; in place of the example of the model before the one of another. */
async function textFor(number) {
  const isExample = !state.t.trim() || state.t === (await ask("about", {model: state.m})).example;
  return isExample ? (await ask("about", {model: number})).example : state.t;
}

/** The languages between source and target. */
export function between(way, models) {
  return way.models.slice(0, -1).map((number) => models[number].target_name).join(" and ");
}

/** What was found out about the language of the text, in words. */
export function toldOfFound({source, found}) {
  if (!found) return `None of the languages here was found; taken as ${language(source)}.`;
  const share = `(${Math.round(found.confidence)} %)`;
  return found.confidence < 50 ? `Perhaps ${language(source)} ${share}.` : `${language(source)} was found ${share}.`;
}

/** Why a view that looks into one model has nothing to show, and what would give it something. */
export function whyNotOne(view) {
  const {way, models} = view, [from, to] = [language(way.source), language(way.target)];
  if (way.source === way.target) return h("p", {class: "note"}, `The text is in ${to} already: choose another language to translate it into.`);
  if (!way.models.length) return h("p", {class: "note"}, `No way leads from ${from} to ${to} through the models here: choose another language.`);
  return h("p", {class: "note"}, `From ${from} to ${to} the text goes through ${between(way, models)}, by ${way.models.length} models, and this view shows the inside of one: `, eachModel(view));
}

/** A button for each model of a way, to look into it with what reaches it. */
export function eachModel(view) {
  const {way, models} = view;
  const look = async (place) => {
    const number = way.models[place], {source_lang: target} = models[number];
    const t = place ? (await ask("translate", {q: state.t, source: way.source, target})).translatedText : state.t;
    set({...ofModel(number), t}, {remember: true});
  };
  return way.models.map((number, place) => [place ? " " : "", h("button", {type: "button", disabled: isExported, onclick: () => view.attempt(() => look(place))},
    `${models[number].source_name} → ${models[number].target_name}`)]);
}
