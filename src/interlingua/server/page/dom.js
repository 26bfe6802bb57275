// Elements without a template engine. Text only ever becomes text: nothing here, or anywhere on this page, parses HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled" || name === "selected") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(3)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

/** Make an HTML element: h("p", {class: "quiet"}, "text", another). */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Make an SVG element. */
export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** A piece of the vocabulary as people read it. */
export function word(piece) {
  const text = piece.replaceAll("▁", " ").replace(/^ /, "");
  return text === "" ? "␣" : text;
}

/** A probability in per cent. */
export function percent(probability) {
  if (probability > 0.9995) return "100 %";
  if (probability < 0.0005) return "< 0.1 %";
  return `${(100 * probability).toFixed(probability < 0.0995 ? 1 : 0)} %`;
}

/** A number with a few digits, and a real minus sign. */
export function number(value, digits = 2) {
  if (value === null || value === undefined) return "–";
  return value.toFixed(digits).replace("-", "−");
}

/** The first characters of a text, never half of one. */
export function beginning(text, most) {
  return text.length > most ? text.slice(0, most).replace(/[\uD800-\uDBFF]$/, "") : text;
}

/** Call later, and only the last of many calls. */
export function debounce(call, milliseconds) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...values), milliseconds);
  };
}

/** The name of a language, or its code where there is none. */
export function language(code) {
  try {
    return new Intl.DisplayNames(["en"], {type: "language"}).of(code) ?? code;
  } catch {
    return code; // no code that a browser knows
  }
}

/** The code of a language for whoever reads aloud, or nothing where it is no language that people speak. */
export function spoken(code) {
  return language(code) === code ? null : code;
}

/** A label with its control. */
export function field(label, control, hint) {
  return h("label", {class: "field"}, h("span", {class: "label"}, label), control, hint ? h("span", {class: "quiet"}, hint) : null);
}

/** A group of choices of which one holds. */
export function choice(legend, name, options, chosen, change) {
  return h("fieldset", {class: "choice"}, h("legend", {}, legend),
    options.map(([value, text]) => h("label", {}, h("input", {
      type: "radio", name, value, checked: value === chosen, onchange: () => change(value)}), h("span", {}, text))));
}

/** A class of probability, 0 (sure) to 4, by which words are coloured. */
export function doubt(probability) {
  return [0.9, 0.6, 0.3, 0.1].filter((least) => probability < least).length;
}
