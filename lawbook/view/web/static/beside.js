// Beside the boards: the rulebook as it stood at this step, and below them what happened up to it.

import { h, fill } from "./dom.js";
import { link } from "./route.js";
import { number } from "./words.js";

const MARKS = { "+": "new", "-": "gone", "~": "said", " ": "" };
const LINES = 7;

/** The proposal whose version of this member stood after a step, as [at, member, version, number], or null. */
export function standing(overview, member, step) {
  let found = null;
  for (const version of overview.versions) {
    if (version[0] > step) break;
    if (version[1] === member) found = version;
  }
  return found;
}

export class RulesThen {
  constructor(run) {
    this.run = run;
    this.shown = "";
    this.title = h("a", { href: "#" }, "Rulebook");
    this.list = h("ul", { class: "rules" });
    this.element = h("section", { class: "then", "aria-label": "The rulebook then" }, h("h2", {}, this.title), this.list);
  }

  /** member's rulebook after this step; what the last revision did is marked where that happened just then. */
  async show(member, step) {
    const version = this.run.overview ? standing(this.run.overview, member, step) : null;
    const fresh = version !== null && version[0] === step;
    const key = `${version?.[3]} ${fresh}`;
    if (key === this.shown) return;
    this.shown = key;
    if (!version) {
      this.title.textContent = "Rulebook";
      this.title.removeAttribute("href");
      fill(this.list, h("li", { class: "dim" }, "Nothing is believed yet."));
      return;
    }
    const proposal = await this.run.proposal(version[3]);
    if (this.shown !== key) return;
    this.title.textContent = `Rulebook, version ${version[2]}`;
    this.title.href = link({ run: this.run.name, view: "rulebook", proposal: version[3], step });
    const entries = proposal.changes.filter((one) => fresh || one.mark !== "-");
    fill(
      this.list,
      entries.map((one) =>
        h(
          "li",
          { class: fresh ? MARKS[one.mark] : "" },
          h("b", {}, `${fresh && one.mark !== " " ? one.mark + " " : ""}${one.name}`),
          ` ${one.text}`,
        ),
      ),
    );
    const first = this.list.querySelector(".new, .said, .gone");
    this.list.scrollTop = first ? first.offsetTop - this.list.offsetTop - 8 : 0;
  }
}

export class Happened {
  constructor(run) {
    this.run = run;
    this.list = h("ol", { class: "happened" });
    this.element = h("section", { "aria-label": "What happened" }, h("h2", {}, "What happened"), this.list);
  }

  /** The last lines up to a step, as far as it and those before it are here. */
  show(at) {
    const lines = [];
    for (let n = at; n >= 0 && lines.length < LINES; n--) {
      const step = this.run.step(n);
      if (!step) break;
      const told = [...(step.line ? [{ mood: mood(step), line: step.line }] : []), ...step.after];
      for (const one of told.reverse()) lines.push([n, one]);
    }
    const shown = lines.slice(0, LINES).reverse();
    fill(
      this.list,
      shown.map(([n, one]) => {
        const place = { run: this.run.name, view: one.number ? "rulebook" : "board", proposal: one.number, step: n };
        return h(
          "li",
          { class: one.mood },
          h("a", { href: link(place) }, h("span", { class: "at" }, number(n)), h("span", {}, one.line)),
        );
      }),
    );
  }
}

const mood = (step) =>
  step.status === "completed"
    ? "good"
    : step.status === "over" || step.status === "truncated"
      ? "bad"
      : step.sort === "probe"
        ? "ask"
        : "plain";
