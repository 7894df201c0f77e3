// The whole run as a strip: levels, kinds of action, wrong predictions, versions; the slider over it is where we are.

import { h, s, fill } from "./dom.js";
import { number } from "./words.js";

const SORTS = ["plan", "probe", "reset"];

export class Timeline {
  /** pick: called with a step when somebody moves the slider. words: step -> what a screen reader says of it. */
  constructor(pick, words) {
    this.words = words;
    this.slider = h("input", {
      type: "range",
      min: 0,
      max: 0,
      value: 0,
      step: 1,
      class: "slider",
      "aria-label": "Action",
      oninput: () => pick(Number(this.slider.value)),
    });
    this.levels = h("div", { class: "levels", "aria-hidden": "true" });
    this.strip = s("svg", { class: "strip", preserveAspectRatio: "none", "aria-hidden": "true" });
    this.element = h("div", { class: "timeline" }, this.levels, h("div", { class: "track" }, this.strip, this.slider), legend());
  }

  /** Draw what a run's overview says. */
  draw(overview) {
    const last = Math.max(overview.steps, 1);
    this.slider.max = overview.steps;
    this.strip.setAttribute("viewBox", `0 0 ${last} 40`);
    const paths = Object.fromEntries(SORTS.map((sort) => [sort, ""]));
    overview.kinds.forEach(([from, sort], k) => {
      const to = overview.kinds[k + 1]?.[0] ?? overview.steps + 1;
      paths[sort] += `M${from - 1} 14h${to - from}v10h${from - to}z`;
    });
    const dots = (list, y) => list.map((at) => `M${at} ${y}h0`).join("");
    fill(
      this.strip,
      overview.levels.slice(1).map(({ from }) => s("path", { class: "border", d: `M${from} 0v40` })),
      SORTS.map((sort) => s("path", { class: `kind ${sort}`, d: paths[sort] })),
      s("path", { class: "missed", d: overview.misses.map((at) => `M${at} 3v21`).join("") }),
      s("path", { class: "refused", d: dots([...new Set(overview.refusals.map(([at]) => at))], 34) }),
      s("path", {
        class: "version",
        d: dots(
          overview.versions.map(([at]) => at),
          34,
        ),
      }),
    );
    fill(
      this.levels,
      overview.levels.map(({ level, from }, k) => {
        const to = overview.levels[k + 1]?.from ?? overview.steps;
        const wide = (100 * (to - from)) / last;
        return h(
          "span",
          { style: { left: `${(100 * from) / last}%`, width: `${wide}%` } },
          wide > 9 ? `level ${level + 1}` : wide > 2.5 ? `${level + 1}` : "",
        );
      }),
    );
  }

  /** We are at this step now. */
  set(step) {
    if (Number(this.slider.value) !== step) this.slider.value = step;
    const text = `${number(step)} of ${number(Number(this.slider.max))}. ${this.words(step)}`;
    this.slider.setAttribute("aria-valuetext", text);
  }
}

function legend() {
  const entry = (name, text) => h("span", { class: `key ${name}` }, text);
  return h(
    "p",
    { class: "legend", "aria-hidden": "true" },
    entry("plan", "plan"),
    entry("probe", "probe"),
    entry("reset", "reset"),
    entry("missed", "wrong prediction"),
    entry("version", "version accepted"),
    entry("refused", "proposal refused"),
  );
}
