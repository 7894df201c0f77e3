// The table of runs: sort it, filter it, open one, choose several to compare.

import { fill, h, say } from "./dom.js";
import { here, link, mark } from "./route.js";
import { source } from "./source.js";
import { count, moment, number, short, STATES } from "./words.js";

// name, how it is sorted (largest first where numbers), how it is shown
const COLUMNS = [
  ["world", (run) => run.world],
  ["mind", (run) => run.mind],
  ["protocol", (run) => run.protocol],
  ["levels", (run) => run.completed + (run.levels ? run.completed / run.levels : 0)],
  ["actions", (run) => run.actions],
  ["× baseline", (run) => (run.solved ? run.solved[0] / run.solved[1] : null)],
  ["RHAE", (run) => run.efficiency],
  ["tokens", (run) => run.tokens],
  ["dollars", (run) => run.dollars],
  ["state", (run) => run.state],
  ["began", (run) => run.began],
];
const NUMBERS = new Set(["levels", "actions", "× baseline", "RHAE", "tokens", "dollars", "began"]);
const HELP = {
  "× baseline": "Actions of the completed levels, as a multiple of the baseline (human, or the shortest)",
  RHAE: "Relative action efficiency, 0 to 100; with ° against another baseline than people",
};

export class TableView {
  constructor() {
    this.runs = [];
    this.chosen = new Set();
    this.filter = h("input", {
      type: "search",
      placeholder: "Filter",
      "aria-label": "Filter runs",
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => {
        mark({ filter: this.filter.value });
        this.show();
      },
    });
    this.filter.value = here().filter ?? "";
    [this.sort, this.down] = [(here().sort ?? "-began").replace("-", ""), (here().sort ?? "-began").startsWith("-")];
    this.told = h("span", { class: "dim", role: "status" });
    this.compare = h("a", { class: "compare" }, "compare");
    this.heads = COLUMNS.map(([name]) => this.headOf(name));
    this.body = h("tbody", {});
    this.element = h(
      "div",
      { class: "runs" },
      h("div", { class: "tools" }, this.filter, this.told, this.compare),
      h(
        "div",
        { class: "wide-table" },
        h("table", {}, h("thead", {}, h("tr", {}, h("td", {}), h("td", {}), this.heads)), this.body),
      ),
    );
  }

  headOf(name) {
    const sort = () => {
      this.down = this.sort === name ? !this.down : NUMBERS.has(name);
      this.sort = name;
      mark({ sort: (this.down ? "-" : "") + name });
      this.show();
    };
    return h(
      "th",
      { scope: "col", class: NUMBERS.has(name) && name !== "began" ? "n" : null, title: HELP[name] },
      h("button", { type: "button", onclick: sort }, name),
    );
  }

  async grown() {
    const found = await source.runs();
    this.folder = found.folder;
    this.runs = found.runs;
    this.show();
    if (found.more) setTimeout(() => this.grown(), 50);
  }

  show() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (run) => `${run.name} ${run.world} ${run.mind} ${run.protocol} ${run.state} seed ${run.seed}`.toLowerCase();
    const seen = this.runs.filter((run) => words.every((word) => text(run).includes(word)));
    const value = COLUMNS.find(([name]) => name === this.sort)?.[1] ?? ((run) => run.began);
    seen.sort((one, two) => this.order(value(one), value(two)) || (one.name < two.name ? 1 : -1));
    COLUMNS.forEach(([name], k) =>
      this.heads[k].setAttribute("aria-sort", name !== this.sort ? "none" : this.down ? "descending" : "ascending"),
    );
    const focused = document.activeElement?.closest?.("tr")?.dataset.run;
    fill(
      this.body,
      seen.map((run) => this.row(run)),
    );
    if (!this.runs.length)
      fill(
        this.body,
        h("tr", {}, h("td", { colspan: 13, class: "dim" }, `There are no runs in ${this.folder}; \`lawbook play\` makes one.`)),
      );
    if (focused) this.rowLink(focused)?.focus();
    say(
      this.told,
      seen.length === this.runs.length ? count(seen.length, "run") : `${number(seen.length)} of ${count(this.runs.length, "run")}`,
    );
    this.offer();
  }

  /** What is unknown comes last, whichever way it is sorted. */
  order(one, two) {
    const [none, other] = [one === null || one === undefined, two === null || two === undefined];
    if (none || other) return none - other;
    const by = typeof one === "string" ? one.localeCompare(two) : one - two;
    return this.down ? -by : by;
  }

  row(run) {
    const choose = h("input", {
      type: "checkbox",
      "aria-label": `Compare ${run.name}`,
      onchange: (event) => {
        event.target.checked ? this.chosen.add(run.name) : this.chosen.delete(run.name);
        this.offer();
      },
    });
    choose.checked = this.chosen.has(run.name);
    const picture = run.frame
      ? h("img", { src: source.picture(run.name, run.frame), alt: "", width: 36, height: 36, loading: "lazy" })
      : h("span", { class: "nopicture" });
    const open = h("a", { href: link({ run: run.name, view: "board" }), title: run.name }, run.world ?? run.name);
    const cells = run.broken
      ? [h("th", { scope: "row" }, open), h("td", { colspan: 10, class: "bad" }, run.broken)]
      : [
          h("th", { scope: "row" }, open),
          h("td", {}, run.population > 1 ? `${run.mind} × ${run.population}` : run.mind),
          h("td", {}, run.protocol),
          h("td", { class: "n" }, `${run.completed}${run.levels ? ` / ${run.levels}` : ""}`),
          h("td", { class: "n" }, number(run.actions)),
          h("td", { class: "n" }, run.solved ? `${(run.solved[0] / run.solved[1]).toFixed(2)}×` : "–"),
          h(
            "td",
            { class: "n" },
            run.efficiency === null ? "–" : run.efficiency.toFixed(1),
            h("span", { class: run.efficiency !== null && run.baseline !== "human" ? "dim" : "none" }, "°"),
          ),
          h("td", { class: "n" }, run.tokens === null ? "–" : short(run.tokens)),
          h("td", { class: "n" }, run.dollars === null ? "–" : `$${run.dollars.toFixed(2)}`),
          h("td", {}, h("span", { class: `state ${STATES[run.state] ?? "quiet"}` }, run.state.replace("_", " "))),
          h("td", { class: "dim began" }, moment(run.began)),
        ];
    const row = h("tr", {}, h("td", {}, choose), h("td", { class: "pic" }, picture), cells);
    row.dataset.run = run.name;
    return row;
  }

  rowLink(name) {
    return [...this.body.rows].find((row) => row.dataset.run === name)?.querySelector("th a");
  }

  offer() {
    const names = [...this.chosen];
    this.compare.textContent = names.length > 1 ? `compare ${names.length}` : "compare";
    if (names.length > 1) this.compare.href = source.compared(names);
    else this.compare.removeAttribute("href");
    this.compare.classList.toggle("off", names.length < 2);
  }

  visit() {}

  key(event) {
    const rows = [...this.body.rows];
    const at = rows.indexOf(document.activeElement?.closest?.("tr"));
    const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    if (by) {
      rows[Math.max(0, Math.min(rows.length - 1, at + by))]?.querySelector("th a")?.focus();
      return true;
    }
    if (event.key === "/") {
      this.filter.focus();
      return true;
    }
    if (event.key === "x" && at >= 0) {
      rows[at].querySelector("input").click();
      return true;
    }
    if (event.key === "c" && this.chosen.size > 1) {
      location.href = this.compare.href;
      return true;
    }
    return false;
  }

  leave() {}
}
