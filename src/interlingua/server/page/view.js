// What every view is: controls that stay, and a result that is asked for anew when what it shows has changed.

import {h} from "./dom.js";
import {listen, ofModel, set, state} from "./state.js";
import {Refused, isExported} from "./api.js";
import {findWay, whyNotOne} from "./ways.js";

/** Remember what has the focus, to give it to what takes its place: whoever uses the keyboard goes on where they were. */
export function mark(root) {
  const active = document.activeElement;
  if (!active || active === root || !root.contains(active)) return null;
  const name = (element) => [element.tagName, element.getAttribute("aria-label")?.split(".")[0], element.value, element.dataset.node,
    element.tagName === "BUTTON" ? element.textContent : ""].join("|");
  const wanted = name(active);
  const alike = () => [...root.querySelectorAll(active.tagName)].filter((each) => name(each) === wanted); // two equal tokens, say
  const place = alike().indexOf(active);
  return () => alike()[place]?.focus({preventScroll: true});
}

/**
 * A custom element with `controls` (made once) and a result. A subclass has `watches`, `ask(signal)` and `show(answer)`. It looks into one model; where
 * the text goes through several, or none leads to the language that is wanted, it says so, unless it `takesAnyWay`.
 */
export class View extends HTMLElement {
  watches = ["m", "t", "target", "sw"];
  isBuilt = false;
  takesAnyWay = false;

  connectedCallback() {
    if (!this.isBuilt) {
      this.isBuilt = true;
      this.result = h("div", {class: "result"});
      this.message = h("p", {class: "message", role: "status"});
      this.controls = h("div", {}, this.build?.());
      this.append(this.controls, this.message, this.result);
      listen((names) => {
        if (this.isConnected && state.view === this.dataset.view && names.some((name) => [...this.watches, "from", "to"].includes(name))) this.update();
      });
    }
    this.update();
  }

  async update() {
    this.running?.abort();
    const running = this.running = new AbortController();
    this.refresh?.();
    if (this.needsText && !state.t.trim()) {
      this.message.textContent = "Write a sentence above.";
      this.result.replaceChildren();
      return;
    }
    const waiting = setTimeout(() => { if (!running.signal.aborted) this.message.textContent = "Computing …"; }, 400);
    try {
      const way = await findWay(this.models, this.ways, running.signal);
      if (running.signal.aborted) return;
      const [number] = way.models, isOne = way.models.length === 1;
      if (isOne && number !== state.m) {
        set({...ofModel(number), from: state.from, to: state.to}); // which calls this again
        return;
      }
      this.way = way;
      this.dispatchEvent(new CustomEvent("way", {bubbles: true, detail: way}));
      this.controls.hidden = !isOne && !this.takesAnyWay;
      if (this.controls.hidden) {
        this.message.textContent = "";
        this.answer = null;
        this.result.replaceChildren(whyNotOne(this));
        return;
      }
      const answer = await this.ask(running.signal);
      if (running.signal.aborted) return;
      this.message.textContent = this.refusal ?? "";
      this.refusal = null;
      this.known = structuredClone(Object.fromEntries(this.watches.map((name) => [name, state[name]])));
      this.draw(answer);
      this.answer = answer;
    } catch (error) {
      if (error.name === "AbortError" || running.signal.aborted) return;
      if (isExported && error instanceof Refused && this.known) {
        this.goBack(error.message);
        return;
      }
      this.complain(error);
      this.result.replaceChildren();
    } finally {
      clearTimeout(waiting);
    }
  }

  draw(answer) {
    const goOn = mark(this.result);
    this.result.replaceChildren(...[this.show(answer)].flat(3).filter(Boolean));
    goOn?.();
  }

  /** What a saved page does not hold cannot be chosen: keep what it shows, and say why. */
  goBack(why) {
    this.refusal = why;
    const {known} = this;
    this.known = null; // once only, should that not be held any more
    set(known);
  }

  /** Do what somebody pressed; what cannot be done is said, and everything stays as it was. */
  async attempt(run) {
    this.message.textContent = "";
    try {
      await run();
    } catch (error) {
      if (error.name === "AbortError") return;
      this.complain(error);
      this.message.scrollIntoView({block: "nearest"});
    }
  }

  /** Say why something did not work, in the message line or where it belongs. */
  complain(error, where = this.message) {
    if (!(error instanceof Refused)) console.error(error);
    where.textContent = error instanceof Refused ? error.message : `Something went wrong here: ${error.message}`;
  }
}
